import 'reflect-metadata';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe';

/** Finds the parts that a new part needs. */
export interface Get {
  <Part>(token: InjectionToken<Part>): Part;
  /** Undefined if nothing registers the part, such as that of a capability that is switched off. */
  optional<Part>(token: InjectionToken<Part>): Part | undefined;
  /** Everything that is registered under the token, in the order of registration. */
  all<Part>(token: InjectionToken<Part>): readonly Part[];
}

/** Finds parts in this container. A part that it does not replace comes from the container that it belongs to. */
export function getFrom(container: DependencyContainer): Get {
  const get = <Part>(token: InjectionToken<Part>): Part => container.resolve(token);
  return Object.assign(get, {
    optional: <Part>(token: InjectionToken<Part>) => (container.isRegistered(token, true) ? get(token) : undefined),
    all: <Part>(token: InjectionToken<Part>) =>
      container.isRegistered(token, true) ? container.resolveAll(token) : [],
  });
}

/** Registers how a part is created, once, when it is first needed: nothing depends on the order of registration. */
export function part<Part>(
  container: DependencyContainer,
  token: InjectionToken<Part>,
  create: (get: Get) => Part,
): void {
  container.register(token, { useFactory: instanceCachingFactory((resolving) => create(getFrom(resolving))) });
}
