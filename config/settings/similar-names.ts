import { editDistance } from '../../domain/edit-distance.ts';

/** What the names of settings end in. Somebody who forgets the unit, or takes another, means the same setting. */
const UNIT = /_(SECONDS|MS|MINUTES|HOURS|DAYS|PER_MINUTE|SIZE|MAX)$/;

/** Names that are shorter have too many neighbors that other programs use, such as `PORTS` and `HOSTS`. */
const LENGTH_MIN = 6;

/** A word that is shorter than this may differ in one letter, a longer one in two. */
const LONG_WORD = 8;

/**
 * The setting that somebody probably meant by a name that is none: the same but for a letter or two in a word, the
 * case, a separator, or the unit. So narrow that the ordinary variables of platforms and shells mean no setting.
 */
export function settingMeantBy(name: string, settings: readonly string[]): string | undefined {
  const given = name.toUpperCase().replaceAll('-', '_');
  return settings.find((setting) => setting.length >= LENGTH_MIN && isTypoOf(given, setting));
}

/** The same for a name that can only be meant for us, since it has one of our prefixes: here another word is enough. */
export function settingClosestTo(name: string, settings: readonly string[]): string | undefined {
  const isInside = (one: string, other: string) => `${one}_`.startsWith(`${other}_`);
  const found = settings.find((setting) => isInside(setting, name) || isInside(name, setting));
  return settingMeantBy(name, settings) ?? found;
}

function isTypoOf(given: string, setting: string): boolean {
  if (singular(given) === singular(setting)) return true;
  if (UNIT.test(setting) && given.replace(UNIT, '') === setting.replace(UNIT, '')) return true;
  if (isWithin(1, given.replaceAll('_', ''), setting.replaceAll('_', ''))) return true;
  const [words, ownWords] = [given.split('_'), setting.split('_')];
  return (
    words.length === ownWords.length &&
    isWithin(2, given, setting) &&
    words.every((word, index) => isTypoOfWord(word, ownWords[index] ?? ''))
  );
}

function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}

function isTypoOfWord(given: string, word: string): boolean {
  return isWithin(word.length < LONG_WORD ? 1 : 2, given, word);
}

/**
 * Whether the texts differ in at most that many letters. Most are told apart by their lengths, since every start
 * compares every variable.
 */
function isWithin(most: number, one: string, other: string): boolean {
  return Math.abs(one.length - other.length) <= most && editDistance(one, other) <= most;
}
