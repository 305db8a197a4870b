/** The members that a person at a terminal wants to see, in this order. */
const MEMBERS = ['event', 'method', 'route', 'status', 'client_id', 'reason', 'hint'] as const;

/** A line of the log for a terminal: the time and a few members. Empty for an audit event, whose request has a line too. */
export function shortLine(line: string): string {
  const members: Readonly<Record<string, unknown>> = JSON.parse(line);
  if (members['log'] === 'audit') return '';
  const values = MEMBERS.flatMap((name) => members[name] ?? []);
  return `${String(members['time']).slice(11, 19)}  ${values.join('  ')}\n`;
}
