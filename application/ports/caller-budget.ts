/** How often a client may ask for something. */
export interface CallerBudget {
  /** Takes so many uses of this client, by default one, and returns whether it had them left. Costs nothing and never fails. */
  take(clientId: string, uses?: number): boolean;
}
