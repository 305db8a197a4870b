/**
 * The fault that an adapter throws if its dependency cannot be reached or does not answer in time. The response is 503,
 * so the caller may retry. The cause is for the log only.
 */
export class DependencyUnavailable extends Error {
  /** The name of the dependency, for operators: `client repository`, `key directory`. */
  readonly dependency: string;

  constructor(dependency: string, cause: unknown) {
    super(`${dependency} unavailable`, { cause });
    this.name = 'DependencyUnavailable';
    this.dependency = dependency;
  }
}
