/** The files that get generated secrets, for a program. Paths are relative to the working directory. */
export interface SecretFiles {
  exists(path: string): Promise<boolean>;

  /**
   * Writes a secret and a line break to a new file that only its owner can read, and returns undefined; or why it
   * cannot be written, such as a file that exists already.
   */
  write(path: string, secret: string): Promise<string | undefined>;

  /** Removes a file that was written. Never fails. */
  remove(path: string): Promise<void>;
}
