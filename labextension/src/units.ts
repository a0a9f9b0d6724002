/** Numbers to text, with the same words as src/rocmtx/units.py. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Writes bytes in binary units: 1610612736 -> "1.5 GiB"; what was not measured is "unknown". */
export function bytesText(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return 'unknown';
  }
  let size = value;
  let at = 0;
  let digits = 0;
  // The unit is chosen for the number that is shown: 1023.97 MiB reads as 1.0 GiB.
  while (Number(Math.abs(size).toFixed(digits)) >= 1024 && at < UNITS.length - 1) {
    size /= 1024;
    at += 1;
    digits = at > 1 ? 1 : 0;
  }
  return `${size.toFixed(digits)} ${UNITS[at] ?? ''}`;
}
