import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { auditLine, type LostLines } from '../../adapters/log/json-audit-log.ts';
import type { AuditEvent } from '../../application/ports/audit-log.ts';
import { SETTING_GROUPS } from '../support/all-settings.ts';
import { auditKindsOfSchema, problemsOfAuditLine } from '../support/audit-schema.ts';
import { generatedFiles } from '../support/generated-docs.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every page: those at the root, all below docs/, and the reports beside the tools. Paths from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path)),
  ...globSync('{deploy,examples,tests/*,lab/*}/*.md', { cwd: ROOT }),
].filter((path) => path.endsWith('.md'));

/** The pages that cite tests for their statements. */
const CITING_PAGES = ['SECURITY.md'];

/** `file` › "name", or `file` › "name" › "case". */
const CITATION = /`((?:tests|lab)\/[^`]+)` › "([^"]+)"(?: › "([^"]+)")?/g;

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A page without its code blocks, which may contain links for other places. */
const proseOf = (page: string) => textOf(page).replace(/^```[\s\S]*?^```/gm, '');

/** The anchors of a page on GitHub. */
function anchorsOf(page: string): readonly string[] {
  const seen = new Map<string, number>();
  const set = [...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const made = [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = text.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return [...set, ...made];
}

/** The links of a page that lead to no file, or to no heading. Links to the outside are not followed. */
function brokenLinksOf(path: string, prose: string): readonly string[] {
  const links = prose.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g);
  return [...links]
    .map(([, link = '']) => link)
    .filter((link) => !/^(?:https?|mailto):/.test(link))
    .filter((link) => {
      const [file = '', anchor] = decodeURI(link).split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(proseOf(target)).includes(anchor);
    });
}

/** The files of this repository that a page names in backticks and that do not exist. */
function missingFilesOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/`((?:adapters|application|config|docs|domain|lab|tests)\/[\w./-]*(?:\/|\.\w+))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(join(ROOT, path)));
}

/** Whether a test file has a test or a suite with this name. */
function hasTest(source: string, name: string): boolean {
  return new RegExp(String.raw`\(\s*(['"\`])${RegExp.escape(name)}\1\s*,`).test(source);
}

/** Whether a test file has a text of exactly these characters, such as a row's first cell. */
function hasText(source: string, text: string): boolean {
  return new RegExp(String.raw`(['"\`])${RegExp.escape(text)}\1`).test(source);
}

/** What is wrong with the citations of a page. */
function brokenCitationsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(CITATION)]
    .filter(([, file = '', name = '', row]) => {
      if (!existsSync(join(ROOT, file))) return true;
      const source = textOf(file);
      return !hasTest(source, name) || (row !== undefined && !hasText(source, row));
    })
    .map(([citation]) => citation);
}

describe('the documents', () => {
  it.each(PAGES)('%s: links to files and headings that exist', (page) => {
    expect(brokenLinksOf(page, proseOf(page))).toEqual([]);
  });

  it.each(PAGES)('%s: every file that is named exists', (page) => {
    expect(missingFilesOf(page)).toEqual([]);
  });

  it.each(PAGES)('%s: every test that is cited exists', (page) => {
    expect(brokenCitationsOf(page)).toEqual([]);
  });

  it.each(CITING_PAGES)('%s: cites tests, and each one in the form that is checked', (page) => {
    const cited = [...proseOf(page).matchAll(CITATION)].length;
    const named = [...proseOf(page).matchAll(/`(?:tests|lab)\/[^`]+\.ts`/g)].length;
    expect(cited).toBeGreaterThan(0);
    expect(cited).toBe(named);
  });
});

describe('docs/how-a-token-is-issued.md', () => {
  it('says of each folder what it is for, unless it is that of a feature or program', () => {
    const page = textOf('docs/how-a-token-is-issued.md');
    const [, table = ''] = page.split('| folder | is for |');
    const rows = table.split('\n\n')[0] ?? '';
    const features = readdirSync(join(ROOT, 'config/features')).map((file) => file.replace('.ts', ''));
    const ofOthers = [...features, 'clients-program', 'keys-program', 'doctor'];
    const folders = globSync('{domain,application,adapters,config}/**/*.*', { cwd: ROOT })
      .map(dirname)
      .filter((path) => !ofOthers.includes(basename(path)));
    expect(folders).toContain('adapters/http/server');
    expect(folders.filter((path) => !rows.includes(`\`${path}/\``))).toEqual([]);
  });

  it('has a row for each feature', () => {
    const [, table = ''] = textOf('docs/how-a-token-is-issued.md').split('| feature | turned on by |\n|---|---|\n');
    const named = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
      cell.split(', '),
    );
    const files = readdirSync(join(ROOT, 'config/features')).map((file) => file.replace('.ts', ''));
    expect(named.toSorted()).toEqual(files.toSorted());
  });
});

describe('npm run docs', () => {
  const files = generatedFiles();

  it.each(files)('leaves $file as it is', ({ current, generated }) => {
    expect(current).toBe(generated);
  });

  it('has a table for each group of settings, and says what each setting means', () => {
    const text = files.map(({ current }) => current).join('\n');
    for (const [group, { rows }] of Object.entries(SETTING_GROUPS)) {
      expect(text).toMatch(new RegExp(`<!-- npm run docs: settings of (.*, )?${group}(, .*)? -->`));
      for (const name of Object.keys(rows))
        expect(text).toMatch(new RegExp(`^\\| \`${name}\` \\| .+ \\| .{8,} \\|$`, 'm'));
    }
  });
});

type Event = AuditEvent | LostLines;

const ORIGIN = { request_id: '3f0c4f0e-52f8-4a86-b3e4-0b9a3f1d7c11', remote_address: '2001:db8::1' };
const AT = 1_800_000_000;
const CHANGE = { at: AT, change_id: '8a8b4a5c-3b38-4f0e-a7a8-4b0a3c6d1f55', database_role: 'admin' };
const CLIENT = {
  client_name: 'Billing',
  scope: 'read',
  state: 'enabled',
  bcrypt_cost: null,
  secrets: [{ secret_id: null, name: null, expires_at: null }],
  keys: [{ key_id: 'a-thumbprint', kid: 'k1', expires_at: AT + 300 }],
  federated_subjects: [{ issuer: 'https://issuer.example', subject: 'billing', claims: { namespace: 'default' } }],
  resources: ['https://api.example/'],
  claims: ['tenant'],
  token_lifetime_seconds: 60,
  grant_types: ['jwt-bearer'],
  audiences: null,
  owner: 'team-a',
} as const;

/** What only lines of programs have. */
const OPERATOR = { os_user: 'alice', host: 'admin-1' };

/** One event of each kind that the code can write: the compiler asks for all of them. */
const EVENTS: { readonly [Kind in Event['event']]: Extract<Event, { readonly event: Kind }> | KeyEventOf<Kind> } = {
  token_issued: {
    event: 'token_issued',
    at: AT,
    client_id: 'billing',
    token_id: 'dd2f8ac6-8d0a-4b8c-a7c4-2a9ea9d3e8a3',
    scope: 'read',
    expires_at: AT + 300,
    ...ORIGIN,
  },
  token_refused: { event: 'token_refused', at: AT, reason: 'secret_wrong', client_id: 'billing', ...ORIGIN },
  token_revoked: { event: 'token_revoked', at: AT, client_id: 'billing', token_id: 'a-token', ...ORIGIN },
  revocation_refused: { event: 'revocation_refused', at: AT, reason: 'secret_wrong', ...ORIGIN },
  introspection_refused: { event: 'introspection_refused', at: AT, reason: 'secret_wrong', ...ORIGIN },
  key_published: { event: 'key_published', at: AT, key_id: 'a-key' },
  key_signing: { event: 'key_signing', at: AT, key_id: 'a-key' },
  key_retired: { event: 'key_retired', at: AT, key_id: 'a-key' },
  key_revoked: { event: 'key_revoked', at: AT, key_id: 'a-key' },
  key_restored: { event: 'key_restored', at: AT, key_id: 'a-key' },
  client_added: { event: 'client_added', ...CHANGE, client_id: 'billing', after: CLIENT },
  client_changed: {
    event: 'client_changed',
    ...CHANGE,
    client_id: 'billing',
    changed: ['state', 'client_secret'],
    before: { state: 'enabled' },
    after: { state: 'disabled' },
  },
  client_removed: { event: 'client_removed', ...CHANGE, client_id: 'billing', before: CLIENT },
  client_tokens_revoked: { event: 'client_tokens_revoked', ...CHANGE, client_id: 'billing' },
  clients_applied: {
    event: 'clients_applied',
    ...CHANGE,
    file: 'clients',
    sha256: 'a'.repeat(64),
    added: 2,
    changed: 1,
    removed: 0,
    clients: [
      { client_id: 'billing', action: 'changed', fields: ['claims', 'owner'], claims: ['tenant'], owner: 'team-a' },
      { client_id: 'other', action: 'added' },
    ],
  },
  clients_imported: {
    event: 'clients_imported',
    ...CHANGE,
    file: 'clients.json',
    sha256: 'a'.repeat(64),
    added: 2,
    replaced: 1,
    still_disabled: 0,
    clients: [{ client_id: 'billing', action: 'replaced', claims: [] }],
  },
  directory_key_revoked: {
    event: 'directory_key_revoked',
    ...CHANGE,
    key_id: 'a-key',
    trusted_until: AT + 300,
  },
  directory_key_ended: { event: 'directory_key_ended', ...CHANGE, key_id: 'a-key', ends_at: AT + 60 },
  change_unconfirmed: { event: 'change_unconfirmed', at: AT, change_id: CHANGE.change_id },
  audit_lines_lost: { event: 'audit_lines_lost', at: AT, lines: 3 },
};

type KeyEventOf<Kind> = Kind extends `key_${string}` ? { event: Kind; at: number; key_id: string } : never;

function parsed(event: Event): Record<string, unknown> {
  const isOfProgram = 'change_id' in event;
  return JSON.parse(auditLine(event, isOfProgram ? OPERATOR : {}));
}

describe('docs/audit.schema.json', () => {
  it.each(Object.values(EVENTS))('describes $event', (event) => {
    expect(problemsOfAuditLine(parsed(event))).toEqual([]);
  });

  it('describes no event that is never written', () => {
    expect([...auditKindsOfSchema()].sort()).toEqual(Object.keys(EVENTS).sort());
  });

  it.each(Object.values(EVENTS))('allows no further field of $event, and none to be absent', (event) => {
    expect(problemsOfAuditLine({ ...parsed(event), client_secret: 'x' })).not.toEqual([]);
    const optional = [
      'database_role',
      ...(event.event === 'token_refused' ? ['client_id'] : ['replica', 'trusted_until']),
    ];
    for (const field of Object.keys(parsed(event)).filter((name) => !optional.includes(name))) {
      const { [field]: _absent, ...rest } = parsed(event);
      expect(problemsOfAuditLine(rest)).not.toEqual([]);
    }
  });
});

describe('docs/metrics.md', () => {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

  it('has a row for each event', () => {
    const cells = [...page.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm)];
    const rows = cells.flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '));
    expect(rows).toEqual(expect.arrayContaining(Object.keys(EVENTS)));
  });

  it('has examples that are as the schema describes them', () => {
    const examples = [...page.matchAll(/^\{"log":"audit".*\}$/gm)].map(([line]) => JSON.parse(line));
    expect(examples.length).toBeGreaterThanOrEqual(2);
    for (const line of examples) expect([line, problemsOfAuditLine(line)]).toEqual([line, []]);
  });
});
