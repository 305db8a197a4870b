import type { BrokenRegistration } from '../../application/client-lookup.ts';

/** A change of the state of a table that lasts. */
export type TableChange =
  | { readonly event: 'table_created' | 'database_available' }
  | { readonly event: 'table_unusable'; readonly problem: string }
  | { readonly event: 'database_unavailable'; readonly fix?: string | undefined; readonly fault: unknown };

/** What an operator needs to know about the database: changes of state, and rows that need repair. */
export type DatabaseLine =
  | TableChange
  | { readonly event: 'role_may_write_clients'; readonly role: string; readonly fix: string }
  | { readonly event: 'search_path_unsafe'; readonly search_path: string; readonly fix: string }
  | BrokenRegistration;

/** Takes lines of the log. Never throws. */
export type DatabaseLog = (line: DatabaseLine) => void;
