import { z } from 'zod';
import type { Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { effectiveSettings } from './effective-settings.ts';
import { invisibleEnd } from './invisible-ends.ts';
import { brokenBy, type RuleBroken, settingProblem } from './rules.ts';
import { settingClosestTo, settingMeantBy } from './similar-names.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that belong together. Their types, and what pages and help texts say of them, come from `rows`. */
export interface SettingsGroup<Rows extends z.ZodRawShape = z.ZodRawShape> {
  /**
   * The kind of each setting, by its name. Its description says in Markdown what it means; `absent`, what counts if it
   * is not set; `standard`, the text that counts instead with SERVICE_PROFILE=standard.
   */
  readonly rows: Rows;
  /**
   * What is wrong, or probably a mistake, with texts that are right by themselves: `refuse` and `warning`.
   *
   * @param given the texts that count, without defaults.
   * @param values undefined as long as a text is wrong by itself.
   */
  rules?(given: Environment, values: ValuesOf<Rows> | undefined): readonly RuleBroken[];
  /** Settings with a file that only its owner may be able to write to. */
  readonly ownersFiles?: readonly string[];
}

/** The settings of a group once they are read. */
export type ValuesOf<Rows extends z.ZodRawShape> = Readonly<z.output<z.ZodObject<Rows>>>;

/** A group whose rules know the types of its rows. */
export function settingsGroup<Rows extends z.ZodRawShape>(group: SettingsGroup<Rows>): SettingsGroup<Rows> {
  return group;
}

/** Variables that MikroORM and pg read, such as the schema of every table. */
const OF_LIBRARIES = /^(MIKRO_ORM_.*|NODE_PG_FORCE_NATIVE)$/;

/**
 * The names of the variables that Kubernetes adds to every container for each Service of its namespace, such as
 * `token-service`.
 */
const OF_KUBERNETES = /_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$/;

/** One of them has the name that a port of ours could have: only its value shows whose it is. */
const URL_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//;

/**
 * Reads the settings of a program. Fails with every problem, by the name of its setting and never with a value. A name
 * that is not in the group is a problem if it has one of `ownPrefixes`, unless Kubernetes adds it, and if it is a typo
 * of a setting that is not given.
 */
export function readEnvironment<Rows extends z.ZodRawShape>(
  { rows, rules }: SettingsGroup<Rows>,
  ownPrefixes: readonly string[],
  environment: Environment,
): Result<ValuesOf<Rows>, readonly Problem[]> {
  // An empty value counts as absent: it is what a compose file or a shell leaves of an unset variable.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const effective = effectiveSettings(given, rows);
  const parsed = z.object(rows).safeParse(effective);
  const settings = Object.keys(rows);
  const absent = settings.filter((name) => !Object.hasOwn(given, name));
  const unknown = Object.entries(given)
    .filter(([name, value]) => !Object.hasOwn(rows, name) && !isOfKubernetes(name, value ?? ''))
    .flatMap(([name]) => {
      const isOwn = ownPrefixes.some((prefix) => name.startsWith(prefix));
      const meant = isOwn ? settingClosestTo(name, settings) : settingMeantBy(name, absent);
      if (!isOwn && meant === undefined) return [];
      const fix = meant === undefined ? undefined : `did you mean ${meant}?`;
      return [settingProblem(name, 'is not a setting of this service', fix)];
    });
  const ofLibraries = Object.keys(given)
    .filter((name) => OF_LIBRARIES.test(name))
    .map((name) => settingProblem(name, 'changes a library of this service, which sets everything itself: unset it'));
  const refused = new Set(parsed.error?.issues.map(({ path }) => path[0]));
  const invisible = settings.flatMap((name) => {
    const problem = refused.has(name) ? undefined : invisibleEnd(given[name] ?? '');
    return problem === undefined ? [] : [settingProblem(name, problem)];
  });
  const problems = [
    ...(parsed.error?.issues.map(({ path, message }) => {
      const name = path.join('.');
      const value = given[name] ?? '';
      return settingProblem(name, invisibleEnd(value) ?? `${message}${hintFor(value)}`);
    }) ?? []),
    ...invisible,
    ...brokenBy('problem', rules?.(effective, parsed.data) ?? []),
    ...unknown,
    ...ofLibraries,
  ];
  return parsed.success && problems.length === 0 ? success(parsed.data) : failure(problems);
}

function isOfKubernetes(name: string, value: string): boolean {
  return OF_KUBERNETES.test(name) || (name.endsWith('_PORT') && URL_OF_KUBERNETES.test(value));
}

/** What often is wrong with a value besides the rule that it breaks. */
function hintFor(value: string): string {
  return URL_OF_KUBERNETES.test(value) ? '; Kubernetes sets it for a Service: switch enableServiceLinks off' : '';
}
