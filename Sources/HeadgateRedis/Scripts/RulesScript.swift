#if Redis
// Limits. A rule is "limit|quarantine|count:window,…|budget:units:window,…" with times in microseconds. An empty limit
// means that there is none. The field with a scope's name has the rule in force. The field with "!" before the name has
// the rule that `share init` has set, after its version and a space.
let rulesScript = #"""
  local parsed = {}
  local function rule(scope)
    if parsed[scope] then return parsed[scope] end
    local r = { limit = math.huge, quarantine = 0, rates = {}, budgets = {} }
    local spec = call('HGET', rules, scope)
    if spec then
      local limit, pause, rates, budgets = spec:match('^(.-)|(.-)|(.-)|(.*)$')
      r.limit, r.quarantine = tonumber(limit) or math.huge, num(pause)
      for count, window in rates:gmatch('(%d+):(%d+)') do
        r.rates[#r.rates + 1] = { count = tonumber(count), window = tonumber(window), name = count .. ':' .. window }
      end
      for name, units, window in budgets:gmatch('([^:,]+):(%d+):(%d+)') do
        r.budgets[name] = { units = tonumber(units), window = tonumber(window) }
      end
    end
    parsed[scope] = r
    return r
  end

  -- The stricter of two rules: the lower limit, all rates, and of each budget the one with fewer units a second.
  local function merge(a, b)
    if not a or a == b then return b end
    local la, qa, ra, ba = a:match('^(.-)|(.-)|(.-)|(.*)$')
    local lb, qb, rb, bb = b:match('^(.-)|(.-)|(.-)|(.*)$')
    local limit = math.min(tonumber(la) or math.huge, tonumber(lb) or math.huge)
    local rates, seen = {}, {}
    for rate in (ra .. ',' .. rb):gmatch('[^,]+') do
      if not seen[rate] then rates[#rates + 1] = rate end
      seen[rate] = true
    end
    local best, budgets = {}, {}
    for name, units, window in (ba .. ',' .. bb):gmatch('([^:,]+):(%d+):(%d+)') do
      if not best[name] or units / window < best[name].pace then
        best[name] = { pace = units / window, spec = name .. ':' .. units .. ':' .. window }
      end
    end
    for _, budget in pairs(best) do budgets[#budgets + 1] = budget.spec end
    table.sort(rates)
    table.sort(budgets)
    return (limit < math.huge and text(limit) or '') .. '|' .. text(math.max(num(qa), num(qb))) .. '|'
      .. table.concat(rates, ',') .. '|' .. table.concat(budgets, ',')
  end

  -- Renews the rule in force: the one that was set, or else the strictest of what connected programs have declared.
  local function resolve(scope)
    local spec = call('HGET', rules, '!' .. scope)
    if spec then
      spec = spec:match('^%d+ (.*)$')
    else
      spec = nil
      for _, member in ipairs(between(index, 'D\t' .. scope .. '\t', -1)) do
        local declaration = call('HGET', declared, member:match('([^\t]*)$') .. '\t' .. scope)
        if declaration then spec = merge(spec, declaration) end
      end
    end
    if spec then call('HSET', rules, scope, spec) end
    parsed[scope] = nil
  end

  local function declare(session, scope, spec)
    local field = session .. '\t' .. scope
    if call('HGET', declared, field) == spec then return end
    call('HSET', declared, field, spec)
    call('ZADD', index, 0, 'D\t' .. scope .. '\t' .. session, 0, 'E\t' .. field)
    resolve(scope)
  end

  -- A rate of `count` starts in a window is a ring of the last `count` starts: each start is a window after the one that
  -- it replaces, so no window has more. Returns the earliest start.
  local function earliest(scope, at)
    for _, rate in ipairs(rule(scope).rates) do
      local name = scope .. '\t' .. rate.name
      local before = call('HGET', starts, name .. '\t' .. num(call('HGET', starts, name)) % rate.count)
      if before then at = math.max(at, tonumber(before) + rate.window) end
    end
    return at
  end
  local function started(scope, at)
    for _, rate in ipairs(rule(scope).rates) do
      local name = scope .. '\t' .. rate.name
      local number = call('HINCRBY', starts, name, 1) - 1
      call('HSET', starts, name .. '\t' .. number % rate.count, text(at))
    end
  end

  -- A budget is counted in sixty parts of its window and one more, so that the parts always cover a whole window.
  local function part(scope, name, budget, moment)
    local length = math.ceil(budget.window / 60)
    local number = math.floor(moment / length)
    return scope .. '\t' .. name .. ':' .. text(budget.window) .. '\t' .. number % 61, number, length
  end
  local function spend(scope, name, budget, moment, units)
    local field, number = part(scope, name, budget, moment)
    local known, spent = (call('HGET', starts, field) or ''):match('^(%d+) (%-?%d+)$')
    if tonumber(known) ~= number then
      if units < 0 then return end
      spent = 0
    end
    call('HSET', starts, field, text(number) .. ' ' .. text(math.max(0, spent + units)))
  end
  -- Returns zero if the units fit, otherwise the time after which they do.
  local function affordable(scope, name, budget, units)
    units = math.min(units, budget.units)
    local _, number, length = part(scope, name, budget, now)
    local fields, parts, sum = {}, {}, 0
    for i = number - 60, number do fields[#fields + 1] = (part(scope, name, budget, i * length)) end
    for i, value in ipairs(call('HMGET', starts, unpack(fields))) do
      local known, spent = (value or ''):match('^(%d+) (%d+)$')
      parts[i] = tonumber(known) == number - 61 + i and tonumber(spent) or 0
      sum = sum + parts[i]
    end
    if sum + units <= budget.units then return 0 end
    for i = 1, 61 do
      sum = sum - parts[i]
      if sum + units <= budget.units then return (number + i) * length - now end
    end
    return budget.window
  end
  """#
#endif
