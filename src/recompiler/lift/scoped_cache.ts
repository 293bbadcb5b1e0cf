/** Remembers one value per key while the scope in which it was made is open: a value made inside an arm cannot be used after it. */
export class ScopedCache {
  private readonly found = new Map<number, number>();
  private readonly added: number[] = [];
  private readonly marks: number[] = [];

  /** Opens a scope. */
  open(): void {
    this.marks.push(this.added.length);
  }

  /** Closes the innermost scope and forgets what was added in it. */
  close(): void {
    const mark = this.marks.pop()!;
    for (let i = mark; i < this.added.length; i++) this.found.delete(this.added[i]);
    this.added.length = mark;
  }

  /** The value for a key, 0 when there is none. */
  get(key: number): number {
    return this.found.get(key) ?? 0;
  }

  /** Adds a value for a key that has none. */
  set(key: number, value: number): number {
    this.found.set(key, value);
    this.added.push(key);
    return value;
  }
}
