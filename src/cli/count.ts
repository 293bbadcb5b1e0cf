/** A number with its noun: `1 label`, `2 labels`, `0 dispatches`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
