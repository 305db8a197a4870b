// The status for auth_request: 204 for a token that is active, 401 for one that is not, 503 while the service does not say.
async function check(request) {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headersIn.Authorization || '');
  if (bearer === null) return request.return(401);
  const reply = await request.subrequest('/_introspect', {
    method: 'POST',
    body: `token=${encodeURIComponent(bearer[1])}`,
  });
  if (reply.status !== 200) return request.return(503);
  const claims = JSON.parse(reply.responseText);
  return request.return(claims.active ? 204 : 401);
}

// biome-ignore lint/style/noDefaultExport: njs imports only the default export of a file
export default { check };
