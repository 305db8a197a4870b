/** What the names of settings end in. Somebody who forgets the unit, or takes another, means the same setting. */
const UNIT = /_(SECONDS|MS|MINUTES|HOURS|DAYS|PER_MINUTE|SIZE|MAX)$/;

/** Names that are shorter have too many neighbors that other programs use, such as `PORTS` and `HOSTS`. */
const LENGTH_MIN = 6;

/**
 * The setting that somebody probably meant by a name that is none: the same but for one letter, the case, a separator,
 * a plural, or the unit. So narrow that the ordinary variables of platforms and shells mean no setting.
 */
export function settingMeantBy(name: string, settings: readonly string[]): string | undefined {
  const given = name.toUpperCase().replaceAll('-', '_');
  return settings.find((setting) => setting.length >= LENGTH_MIN && isAlmost(given, setting));
}

/** The same for a name that has one of our prefixes: it may also be a part of the setting. */
export function settingClosestTo(name: string, settings: readonly string[]): string | undefined {
  const isInside = (one: string, other: string) => `${one}_`.startsWith(`${other}_`);
  const found = settings.find((setting) => isInside(setting, name) || isInside(name, setting));
  return settingMeantBy(name, settings) ?? found;
}

function isAlmost(given: string, setting: string): boolean {
  const singular = (name: string) => name.replace(/IES(?=_|$)/g, 'Y').replaceAll('_', '');
  const withoutUnit = (name: string) => name.replace(UNIT, '');
  if (UNIT.test(setting) && withoutUnit(given) === withoutUnit(setting)) return true;
  return singular(given) === singular(setting) || differInOneLetter(singular(given), singular(setting));
}

/** Whether one letter was left out, added, replaced, or swapped with the next one. */
function differInOneLetter(one: string, other: string): boolean {
  let [begin, end] = [0, 0];
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  while (end < one.length - begin && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const [left, right] = [one.slice(begin, one.length - end), other.slice(begin, other.length - end)];
  return (
    Math.max(left.length, right.length) <= 1 || (left.length === 2 && left[0] === right[1] && left[1] === right[0])
  );
}
