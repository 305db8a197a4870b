-- Script for wrk: token requests that cycle through client ids. Arguments: number of ids, step between two ids, secret, and
-- perhaps a file with bodies, one per line: then each of these is sent once instead.
local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
local requests = {}
local position = 0
local nextBody

function init(args)
  local count, step, secret = tonumber(args[1]), tonumber(args[2]), args[3]
  if args[4] then nextBody = io.lines(args[4]) end
  for n = 0, count - 1 do
    local body = "grant_type=client_credentials&client_id=client-" .. (1 + n * step) .. "&client_secret=" .. secret
    requests[n] = wrk.format("POST", nil, headers, body)
  end
end

function request()
  -- After the last line, requests fail: none is sent twice.
  if nextBody then return wrk.format("POST", nil, headers, nextBody() or "") end
  position = (position + 1) % (#requests + 1)
  return requests[position]
end

-- One line of JSON, the last line of the output. Times are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"duration":%d,"status":%d,"socket":%d,"timeout":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write, errors.timeout,
    latency:percentile(50), latency:percentile(99)
  ))
end
