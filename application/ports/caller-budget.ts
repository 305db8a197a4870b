/** How often a client may ask for something. */
export interface CallerBudget {
  /** Takes one use of this client, and returns whether it had one left. Costs nothing and never fails. */
  take(clientId: string): boolean;
}
