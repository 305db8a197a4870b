-- Script for wrk: token requests that cycle through client ids. Arguments: number of ids, step between two ids, secret.
local requests = {}
local position = 0

function init(args)
  local count, step, secret = tonumber(args[1]), tonumber(args[2]), args[3]
  local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
  for n = 0, count - 1 do
    local body = "grant_type=client_credentials&client_id=client-" .. (1 + n * step) .. "&client_secret=" .. secret
    requests[n] = wrk.format("POST", nil, headers, body)
  end
end

function request()
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
