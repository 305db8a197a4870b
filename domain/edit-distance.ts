/**
 * How many letters have to be inserted, deleted, replaced or swapped with their neighbor to make one text of the other
 * (optimal string alignment distance).
 */
export function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const cell = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      rows[row]?.push(
        Math.min(
          cell(row - 1, column) + 1,
          cell(row, column - 1) + 1,
          cell(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? cell(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return cell(one.length, other.length);
}

/** A text that is shorter than this may differ in one letter, a longer one in two. */
const LONG_TEXT = 8;

/** The candidate that somebody probably meant: the closest one, if it differs in a letter or two or in the case only. */
export function closestTo(given: string, candidates: readonly string[]): string | undefined {
  const most = given.length < LONG_TEXT ? 1 : 2;
  const distanceOf = (one: string) =>
    Math.abs(one.length - given.length) > most ? Infinity : editDistance(one.toLowerCase(), given.toLowerCase());
  const [closest] = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(candidate) }))
    .sort((one, other) => one.distance - other.distance);
  return closest !== undefined && closest.distance <= most ? closest.candidate : undefined;
}
