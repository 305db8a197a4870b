import { globSync, readFileSync } from 'node:fs';
import { ALL_REASONS, type AnyReason, RESPONSES } from '../../adapters/http/server/http-refusal.ts';
import { ALL_MEANINGS } from '../../adapters/http/server/reason-meanings.ts';
import { aboutSetting } from '../../config/settings/about-setting.ts';
import type { SettingsGroup } from '../../config/settings/read-environment.ts';
import { SETTING_GROUPS } from './all-settings.ts';
import { generateAdminApi } from './generate-admin-api.ts';
import { generateAuditSchema } from './generate-audit-schema.ts';
import { SHOWN_SCOPE_ROWS } from './scopes-of-one-api.ts';

/** The part of a page that has this name; undefined if nothing generates it. */
function generate(name: string): string | undefined {
  if (name === 'reasons') return reasonsLists();
  if (name === 'scopes of one API') return scopesTable();
  const [, groups = ''] = /^settings of (.+)$/.exec(name) ?? [];
  const rows = groups.split(', ').map((group) => SETTING_GROUPS[group]?.rows);
  if (rows.includes(undefined)) return undefined;
  return settingsTable(Object.assign({}, ...rows));
}

/**
 * A page with its generated parts as the code says that they should be. Throws on a part that nothing generates, or
 * without an end.
 */
export function withGeneratedParts(page: string): string {
  const [beforeFirst = '', ...others] = page.split('<!-- npm run docs: ');
  const parts = others.map((text) => {
    const [, name = '', rest = ''] = /^(.+?) -->\n.*?(<!-- end -->.*)$/s.exec(text) ?? [];
    const part = generate(name);
    if (part === undefined) throw new Error(`nothing generates ${name}, or it has no end`);
    return `<!-- npm run docs: ${name} -->\n${part}\n${rest}`;
  });
  return [beforeFirst, ...parts].join('');
}

function scopesTable(): string {
  const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ');
  const lines = SHOWN_SCOPE_ROWS.map(({ scope, resources, granted, error }) => {
    const outcome = granted === undefined ? `400 \`${error}\`` : code([granted]);
    return `| ${code(resources) || 'none'} | ${scope === undefined ? 'none' : code([scope])} | ${outcome} |`;
  });
  return ['| `resource` | `scope` | scopes of the token |', '|---|---|---|', ...lines].join('\n');
}

/** Files that are generated as a whole. */
const WHOLE: Readonly<Record<string, () => string>> = {
  'docs/audit.schema.json': generateAuditSchema,
  'docs/admin-api.openapi.json': generateAdminApi,
};

/** Each file that is generated or has generated parts, as it is and as the code says that it should be. */
export function generatedFiles(): readonly { file: string; current: string; generated: string }[] {
  return [...globSync('docs/*.md'), ...Object.keys(WHOLE)].map((file) => {
    const current = readFileSync(file, 'utf8');
    return { file, current, generated: WHOLE[file]?.() ?? withGeneratedParts(current) };
  });
}

function settingsTable(rows: SettingsGroup['rows']): string {
  const lines = Object.entries(rows).map(([name, schema]) => {
    const { fallback = 'none, required', meaning } = aboutSetting(schema);
    return `| \`${name}\` | ${fallback} | ${meaning} |`;
  });
  return ['| setting | default | meaning |', '|---|---|---|', ...lines].join('\n');
}

/** The sentences after the first one, which a description makes unnecessary. */
const whatToDo = (meaning: string) => meaning.replace(/^.*?\. (?=[A-Z])/, '');

/** A list for each response. */
function reasonsLists(): string {
  const reasons = Object.keys(ALL_REASONS) as AnyReason[];
  const responseOf = (code: keyof typeof RESPONSES) => `${RESPONSES[code].status} \`${RESPONSES[code].error}\``;
  const codes = Object.keys(RESPONSES) as (keyof typeof RESPONSES)[];
  return [...new Set(codes.map(responseOf))]
    .map((response) => {
      const given = reasons.filter((reason) => responseOf(ALL_REASONS[reason].code) === response);
      const items = given.map((reason) => {
        const { description } = ALL_REASONS[reason];
        const meaning = ALL_MEANINGS[reason];
        return `- **\`${reason}\`**: ${description === undefined ? meaning : `"${description}". ${whatToDo(meaning)}`}`;
      });
      return `## ${response}\n\n${items.join('\n')}\n`;
    })
    .join('\n');
}
