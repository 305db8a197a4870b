import type { z } from 'zod';
import { failure, type Result, success } from '../../domain/result.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the variables that Kubernetes adds to every container for each Service of its namespace, such as `token-service`. */
const OF_KUBERNETES = /_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$/;

/**
 * Reads the settings of a program with its schema. Fails with every problem, by the name of its setting and never with a
 * value. A name with one of `ownPrefixes` that is not in the schema is a typo, and so a problem, unless Kubernetes adds it.
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
  const unknown = Object.keys(given)
    .filter((name) => ownPrefixes.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !Object.hasOwn(schema.shape, name) && !OF_KUBERNETES.test(name));
  const problems = [
    ...(parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? []),
    ...findMore(given),
    ...unknown.map((name) => `${name}: is not a setting of this service`),
  ];
  return parsed.success && problems.length === 0 ? success(parsed.data) : failure(problems);
}
