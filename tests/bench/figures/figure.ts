/** A number for a table: thousands apart, as many decimals as said; `n/a` where it could not be measured. */
export function figure(value: number | undefined, decimals = 0): string {
  if (value === undefined || Number.isNaN(value)) return 'n/a';
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
