import type { z } from 'zod';
import { failure, type Result, success } from '../../domain/result.ts';
import { settingClosestTo, settingMeantBy } from './similar-names.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the variables that Kubernetes adds to every container for each Service of its namespace, such as `token-service`. */
const OF_KUBERNETES = /_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$/;

/** One of them has the name that a port of ours could have: only its value shows whose it is. */
const URL_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//;

/**
 * Reads the settings of a program with its schema. Fails with every problem, by the name of its setting and never with a
 * value. A name that is not in the schema is a problem if it has one of `ownPrefixes`, unless Kubernetes adds it, and if it is
 * a typo of a setting that is not given.
 *
 * @param findMore the problems that no setting has by itself.
 */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  ownPrefixes: readonly string[],
  environment: Environment,
  findMore: (given: Environment) => readonly string[] = () => [],
): Result<z.output<Schema>, readonly string[]> {
  // An empty value counts as absent: it is what a compose file or a shell leaves of an unset variable.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const settings = Object.keys(schema.shape);
  const absent = settings.filter((name) => !Object.hasOwn(given, name));
  const unknown = Object.entries(given)
    .filter(([name, value]) => !Object.hasOwn(schema.shape, name) && !isOfKubernetes(name, value ?? ''))
    .flatMap(([name]) => {
      const isOwn = ownPrefixes.some((prefix) => name.startsWith(prefix));
      const meant = isOwn ? settingClosestTo(name, settings) : settingMeantBy(name, absent);
      if (!isOwn && meant === undefined) return [];
      return [`${name}: is not a setting of this service${meant === undefined ? '' : `: did you mean ${meant}?`}`];
    });
  const problems = [
    ...(parsed.error?.issues.map(({ path, message }) => {
      const name = path.join('.');
      return `${name}: ${message}${hintFor(given[name] ?? '')}`;
    }) ?? []),
    ...findMore(given),
    ...unknown,
  ];
  return parsed.success && problems.length === 0 ? success(parsed.data) : failure(problems);
}

function isOfKubernetes(name: string, value: string): boolean {
  return OF_KUBERNETES.test(name) || (name.endsWith('_PORT') && URL_OF_KUBERNETES.test(value));
}

/** What often is wrong with a value besides the rule that it breaks. */
function hintFor(value: string): string {
  if (/^(["']).*\1$/s.test(value)) return '; its quotation marks are part of it: files for docker --env-file have none';
  if (value.endsWith('\r')) return '; it ends in a carriage return: save the file that sets it with Unix line ends';
  return URL_OF_KUBERNETES.test(value) ? '; Kubernetes sets it for a Service: switch enableServiceLinks off' : '';
}
