/**
 * The fault that an adapter throws when what it stands for cannot be reached or does not answer in time.
 * The caller may come again: the edge answers 503. The cause is for the log only.
 */
export class DependencyUnavailable extends Error {
  /** Which dependency, in an operator's word: `client repository`, `key directory`. */
  readonly dependency: string;

  constructor(dependency: string, cause: unknown) {
    super(`${dependency} unavailable`, { cause });
    this.name = 'DependencyUnavailable';
    this.dependency = dependency;
  }
}
