/** A table as text: columns of words to the left, of numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const texts = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...texts.map((row) => row[column].length)));
  const numeric = head.map((_, column) =>
    rows.length > 0 && rows.every((row) => /^[\d./ ]+$/.test(String(row[column])))
  );
  return texts.map((row) =>
    row.map((text, column) => numeric[column] ? text.padStart(widths[column]) : text.padEnd(widths[column])).join("  ")
      .trimEnd()
  ).join("\n");
}
