/** What an operator wants to know of the database, apart from the requests: changes of state, and rows to mend. */
export type DatabaseLine =
  | { readonly event: 'table_created' }
  | { readonly event: 'table_unusable'; readonly problem: string }
  | { readonly event: 'database_unavailable'; readonly fault: unknown }
  | { readonly event: 'database_available' }
  | {
      readonly event: 'registration_broken';
      readonly client_id: string;
      readonly field: string;
      readonly rule: string;
    };

/** Takes lines of the log. Never throws. */
export type DatabaseLog = (line: DatabaseLine) => void;
