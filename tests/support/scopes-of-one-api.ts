/** What a client may ask for, in the fields of a clients file. */
export const PLAIN = 'https://plain.example';
export const FILES = 'https://files.example';
export const COPY = 'https://copy.example';
export const BILLS = 'https://bills.example';
export const REGISTERED = {
  scope: 'read write',
  resources: [
    PLAIN,
    { resource: FILES, scope: 'read files' },
    { resource: COPY, scope: 'files read' },
    { resource: BILLS, scope: 'pay' },
  ],
} as const;

/** A request, and the scopes of its token or the error. */
export interface ScopeRow {
  readonly scope?: string;
  readonly resources: readonly string[];
  readonly granted?: string;
  readonly error?: 'invalid_scope' | 'invalid_target';
}

/** The rows that docs/resource-servers.md shows. */
export const SHOWN_SCOPE_ROWS: readonly ScopeRow[] = [
  { resources: [], granted: 'read write' },
  { scope: 'files', resources: [], error: 'invalid_scope' },
  { resources: [PLAIN], granted: 'read write' },
  { resources: [FILES], granted: 'read files' },
  { scope: 'files', resources: [FILES], granted: 'files' },
  { scope: 'write', resources: [FILES], error: 'invalid_scope' },
  { resources: [FILES, COPY], granted: 'read files' },
  { resources: [FILES, BILLS], error: 'invalid_target' },
  { resources: ['https://other.example'], error: 'invalid_target' },
];

/** Each combination of a requested scope and requested resources. */
export const SCOPE_ROWS: readonly ScopeRow[] = [
  ...SHOWN_SCOPE_ROWS,
  { scope: 'write', resources: [], granted: 'write' },
  { scope: 'read', resources: [PLAIN], granted: 'read' },
  { scope: 'files', resources: [PLAIN], error: 'invalid_scope' },
  { scope: 'read', resources: [`${FILES}/`], granted: 'read' },
  { scope: 'pay', resources: [FILES], error: 'invalid_scope' },
  { resources: [FILES, FILES], granted: 'read files' },
  { scope: 'files', resources: [COPY, FILES], granted: 'files' },
  { scope: 'pay', resources: [FILES, COPY], error: 'invalid_scope' },
  { scope: 'read', resources: [FILES, BILLS], error: 'invalid_target' },
  { resources: [FILES, PLAIN], error: 'invalid_target' },
  { scope: 'read', resources: [PLAIN, FILES], error: 'invalid_target' },
  { resources: [FILES, 'https://other.example'], error: 'invalid_target' },
  { scope: 'pay', resources: ['https://other.example'], error: 'invalid_scope' },
];
