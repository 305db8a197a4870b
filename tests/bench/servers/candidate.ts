import type { ProcessTree } from '../machine/process-tree.ts';

/** A running server whose tokens are measured. */
export interface Candidate {
  readonly name: string;
  readonly port: number;
  readonly tokenUrl: string;
  /** Where its public keys are, for anybody. */
  readonly keySetUrl: string;
  readonly tree: ProcessTree;
}
