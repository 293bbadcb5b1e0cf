export function x(): number { return 1; }
