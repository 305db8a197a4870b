import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { hasState, loggableFault, SQLSTATE } from './fault.ts';

/** A fault of the client store, as its port promises it. A bug in this program stays what it is. */
export function storeFault(fault: unknown): unknown {
  if (fault instanceof TypeError || fault instanceof RangeError) return fault;
  const cause = loggableFault(fault);
  return hasState(fault, SQLSTATE.valueRefused)
    ? new ValueRefused(cause)
    : new DependencyUnavailable('client store', cause);
}
