/** `planned`: a load balancer sends requests here and gets the grace time to stop. `immediate`: a person waits. */
export type ShutdownMode = 'planned' | 'immediate';
