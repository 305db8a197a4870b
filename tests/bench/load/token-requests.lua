-- wrk's script: token requests that walk over client ids. Arguments: how many ids, the step between two, the secret.
local requests = {}
local turn = 0

function init(args)
  local count, step, secret = tonumber(args[1]), tonumber(args[2]), args[3]
  local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
  for n = 0, count - 1 do
    local body = "grant_type=client_credentials&client_id=client-" .. (1 + n * step) .. "&client_secret=" .. secret
    requests[n] = wrk.format("POST", nil, headers, body)
  end
end

function request()
  turn = (turn + 1) % (#requests + 1)
  return requests[turn]
end

-- One line of JSON, the last of the output. Times in microseconds, as wrk has them.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"duration":%d,"status":%d,"socket":%d,"timeout":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write, errors.timeout,
    latency:percentile(50), latency:percentile(99)
  ))
end
