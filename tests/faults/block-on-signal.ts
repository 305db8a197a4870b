// For `node --import`: on SIGUSR2, the process never returns to its event loop.

process.on('SIGUSR2', () => {
  for (;;);
});
