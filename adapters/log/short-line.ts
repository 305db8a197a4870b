/** The fields that a person at a terminal wants to see, in this order. */
const FIELDS = ['event', 'method', 'route', 'status', 'client_id', 'reason', 'hint'] as const;

/** A line for a terminal: the time and a few fields. Empty for an audit event, whose request has a line too. */
export function shortLine(line: string): string {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(line);
  if (fields['log'] === 'audit') return '';
  const values = FIELDS.flatMap((name) => fields[name] ?? []);
  return `${String(fields['time']).slice(11, 19)}  ${values.join('  ')}\n`;
}
