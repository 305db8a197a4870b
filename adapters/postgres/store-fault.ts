import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { hasState, loggableFault, SQLSTATE } from './fault.ts';

/** A fault of the client store, as its port promises it. A bug in this program stays what it is, and so does the fault of a change that could not be recorded. */
export function storeFault(fault: unknown): unknown {
  if (fault instanceof TypeError || fault instanceof RangeError || fault instanceof DependencyUnavailable) return fault;
  const cause = loggableFault(fault);
  return hasState(fault, SQLSTATE.valueRefused)
    ? new ValueRefused(cause)
    : new DependencyUnavailable('client store', cause);
}
