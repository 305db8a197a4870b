import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const SCHEMA = JSON.parse(readFileSync(new URL('../../docs/audit.schema.json', import.meta.url), 'utf8'));

const validate = formats
  .default(new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false }))
  .compile(SCHEMA);

/** What docs/audit.schema.json finds wrong with a line; none if it is as described. */
export function problemsOfAuditLine(line: unknown): readonly string[] {
  return validate(line) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** The kinds of events that the schema describes. */
export function auditKindsOfSchema(): readonly string[] {
  return SCHEMA.oneOf.flatMap(({ $ref }: { $ref: string }) => {
    const { event } = SCHEMA.$defs[$ref.replace('#/$defs/', '')].properties;
    return event.enum ?? event.const;
  });
}
