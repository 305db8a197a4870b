import { z } from 'zod';

/** What pages and help texts say of a setting, in Markdown. */
export interface AboutSetting {
  /** What counts if it is not set; undefined if it is required. */
  readonly fallback: string | undefined;
  /** What it is, with the values that it may have: one sentence without its period. */
  readonly summary: string;
  /** All further sentences, if there are any. */
  readonly details: readonly string[];
}

/** All of it comes from the schema: see `describe` and `meta` of zod. */
export function aboutSetting(schema: z.core.$ZodType): AboutSetting {
  const { description = '', absent } = z.globalRegistry.get(schema) ?? {};
  const [, first = '', ...details] = /^(.*?)(?:\. (.*))?$/.exec(description) ?? [];
  const values = z.globalRegistry.get(kindOf(schema))?.['values'];
  return {
    fallback: absent === undefined ? fallbackOf(schema) : String(absent),
    summary: values === undefined ? first : `${first} (${values})`,
    details: details.filter((sentences) => sentences !== undefined),
  };
}

/** What a help page says of these settings. */
export function helpRows(rows: z.ZodRawShape): readonly (readonly [name: string, meaning: string])[] {
  return Object.entries(rows).map(([name, schema]) => {
    const { fallback, summary } = aboutSetting(schema);
    const unset = fallback === undefined ? '; required' : fallback === 'none' ? '' : `; default ${fallback}`;
    return [name, `${summary}${unset}`.replaceAll('`', '')];
  });
}

function kindOf(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapped = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
  return isWrapped ? kindOf(schema.unwrap()) : schema;
}

function fallbackOf(schema: z.core.$ZodType): string | undefined {
  if (!(schema instanceof z.ZodDefault)) return schema instanceof z.ZodOptional ? 'none' : undefined;
  const value = schema.def.defaultValue;
  return typeof value === 'object' && !Array.isArray(value) ? 'none' : `\`${value}\``;
}
