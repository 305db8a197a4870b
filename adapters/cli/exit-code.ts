/** How the program ends, for scripts. docs/managing-clients.md promises these numbers. */
export const EXIT = {
  done: 0,
  /** The request cannot be fulfilled: no such client, an id that is taken, an unusable secret or file. */
  refused: 1,
  /** The command line or the environment is wrong; nothing was tried. */
  usage: 2,
  /** The database cannot be reached or used. */
  databaseUnavailable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
