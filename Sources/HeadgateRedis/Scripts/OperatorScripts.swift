#if Redis
// configure: ARGV[5] is the version, then scopes and rules in pairs. Only a higher version has an effect. An unused
// namespace is marked, so that its first program starts without learning.
let configureScript = #"""
  if not call('HGET', meta, 'run') then call('HSET', meta, 'run', 'init') end
  local set = 0
  for i = 6, #ARGV, 2 do
    local scope = ARGV[i]
    local version = (call('HGET', rules, '!' .. scope) or ''):match('^%d+')
    if not version or tonumber(version) < tonumber(ARGV[5]) then
      call('HSET', rules, '!' .. scope, ARGV[5] .. ' ' .. ARGV[i + 1])
      resolve(scope)
      pump(scope)
      set = set + 1
    end
  end
  return set
  """#

// status: sessions, the time left to learn, then scope, rule, used and waiting of at most 1000 scopes.
let statusScript = #"""
  local found = {}
  for _, scope in ipairs(call('HKEYS', rules)) do
    if scope:sub(1, 1) ~= '!' and #found < 4000 then
      found[#found + 1] = scope
      found[#found + 1] = call('HGET', rules, scope)
      found[#found + 1] = num(call('HGET', used, scope))
      found[#found + 1] = call('ZLEXCOUNT', waiting, '[' .. scope .. '\t', '(' .. scope .. '\t\255')
    end
  end
  return { call('ZCARD', sessions), learning and learn - now or 0, found }
  """#
#endif
