/** How often a client may ask for something. */
export interface CallerBudget {
  /** Takes so many uses of this client, one by default. Returns whether it had them. Costs nothing, never fails. */
  take(clientId: string, uses?: number): boolean;
}
