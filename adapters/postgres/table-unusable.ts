/** Why a table cannot be used, in an operator's words. Waiting does not mend it, somebody has to. */
export class TableUnusable extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'TableUnusable';
  }
}
