/** Why the table `clients` cannot be read from, in an operator's words. Waiting does not mend it, somebody has to. */
export class TableUnusable extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'TableUnusable';
  }
}
