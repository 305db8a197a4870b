import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The texts that count: where nothing is given, what SERVICE_PROFILE=standard sets, which is `standard` of a row.
 * `none` for a list without a default counts as absent, also where a profile sets one.
 */
export function effectiveSettings(environment: Environment, rows: z.ZodRawShape): Environment {
  const isStandard = environment['SERVICE_PROFILE'] === 'standard';
  const changed = Object.entries(rows).flatMap(([name, schema]) => {
    const value = environment[name];
    if (value === 'none' && isOptionalList(schema)) return [[name, undefined]];
    const standard = isStandard && !value ? standardOf(schema) : undefined;
    return standard === undefined ? [] : [[name, standard]];
  });
  return { ...environment, ...Object.fromEntries(changed) };
}

/**
 * The text that counts with SERVICE_PROFILE=standard if a setting is not given; undefined if the profile does not
 * change it.
 */
export function standardOf(schema: z.core.$ZodType): string | undefined {
  const { standard } = z.globalRegistry.get(schema) ?? {};
  return typeof standard === 'string' ? standard : undefined;
}

function isOptionalList(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodOptional && z.globalRegistry.get(schema.unwrap())?.['isList'] === true;
}
