import { z } from 'zod';
import { standardOf } from './effective-settings.ts';

/**
 * What pages and help texts say of a setting, in Markdown: all of it comes from `describe` and `meta` of its schema.
 * `fallback` is what counts if it is not set, also with SERVICE_PROFILE=standard; undefined if it is required.
 * `summary` is the first sentence of `meaning`, without its period.
 */
export function aboutSetting(schema: z.core.$ZodType) {
  const { description = '', absent = fallbackOf(schema) } = z.globalRegistry.get(schema) ?? {};
  const values = z.globalRegistry.get(kindOf(schema))?.['values'];
  const meaning = description.replace(/\. |$/, (end) => (values === undefined ? end : ` (${values})${end}`));
  const [summary = ''] = meaning.split('. ');
  const standard = standardOf(schema);
  const fallback = standard === undefined ? absent : `${absent}; with \`standard\`: \`${standard}\``;
  return { fallback, summary, meaning };
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
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? kindOf(schema.unwrap()) : schema;
}

function fallbackOf(schema: z.core.$ZodType): string | undefined {
  if (!(schema instanceof z.ZodDefault)) return schema instanceof z.ZodOptional ? 'none' : undefined;
  const value = schema.def.defaultValue;
  return typeof value === 'object' && !Array.isArray(value) ? 'none' : `\`${value}\``;
}
