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
    local old = rule(scope)
    if spec then
      call('HSET', rules, scope, spec)
      parsed[scope] = nil
      -- What is counted for rates that are no longer in force is past after their windows, which begin at the last
      -- start: one may be reserved a second ahead.
      local new = {}
      for _, rate in ipairs(rule(scope).rates) do new[rate.name] = true end
      for _, rate in ipairs(old.rates) do
        if not new[rate.name] then
          call('ZADD', dues, text(now + rate.window + 1000000), 'S\t' .. scope .. '\t' .. rate.name)
        end
      end
      for name, budget in pairs(old.budgets) do
        local same = rule(scope).budgets[name]
        if not same or same.window ~= budget.window then
          local member = 'B\t' .. scope .. '\t' .. name .. ':' .. text(budget.window)
          call('ZADD', dues, text(now + budget.window * 2), member)
        end
      end
    else
      -- No program is left. The limits, and what they count, stay until the longest window has passed.
      local memory = 0
      for _, rate in ipairs(old.rates) do memory = math.max(memory, rate.window + 1000000) end
      for _, budget in pairs(old.budgets) do memory = math.max(memory, budget.window * 2) end
      call('ZADD', dues, text(now + memory), 'R\t' .. scope)
    end
  end

  local function declare(session, scope, spec)
    local field = session .. '\t' .. scope
    if call('HGET', declared, field) == spec then return end
    call('HSET', declared, field, spec)
    call('ZADD', index, 0, 'D\t' .. scope .. '\t' .. session, 0, 'E\t' .. field)
    resolve(scope)
  end

  local function undeclare(session, scope)
    if call('HDEL', declared, session .. '\t' .. scope) == 0 then return end
    call('ZREM', index, 'E\t' .. session .. '\t' .. scope, 'D\t' .. scope .. '\t' .. session)
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

  -- Removes what was counted for a rate, whose window has passed. Returns the number of fields, and whether all are gone.
  local function forget_rate(scope, name, most)
    local ring = scope .. '\t' .. name
    local last = math.min(num(call('HGET', starts, ring)), num(name:match('^%d+')))
    local first = math.max(0, last - most)
    local fields = {}
    for i = first, last - 1 do fields[#fields + 1] = ring .. '\t' .. text(i) end
    if first == 0 then fields[#fields + 1] = ring else call('HSET', starts, ring, text(first)) end
    call('HDEL', starts, unpack(fields))
    return #fields, first == 0
  end
  local function forget_budget(scope, name)
    local fields = {}
    for i = 0, 60 do fields[#fields + 1] = scope .. '\t' .. name .. '\t' .. text(i) end
    call('HDEL', starts, unpack(fields))
    return #fields
  end
  -- The same for all limits of a scope that no program names.
  local function forget_scope(scope, most)
    local fields, isAll = 0, true
    for name, budget in pairs(rule(scope).budgets) do
      fields = fields + forget_budget(scope, name .. ':' .. text(budget.window))
    end
    for _, rate in ipairs(rule(scope).rates) do
      local number, isDone = forget_rate(scope, rate.name, math.max(1, most - fields))
      fields, isAll = fields + number, isAll and isDone
    end
    if isAll and not call('HGET', rules, '!' .. scope) then
      call('HDEL', rules, scope)
      parsed[scope] = nil
    end
    return fields + 8, isAll
  end

  -- Gives memory back, a little in each call: about 128 fields of what is due. Returns whether there may be more.
  --   R SCOPE: the limits of a scope that no program names | S SCOPE RATE, B SCOPE BUDGET: what was counted for a
  --   limit that is no longer in force | P SCOPE: a pause that nobody has asked about since
  local function collect()
    local left = 128
    local members = call('ZRANGEBYSCORE', dues, '-inf', text(now), 'LIMIT', 0, 16)
    for _, member in ipairs(members) do
      if left <= 0 then return true end
      call('ZREM', dues, member)
      local kind, scope, name = member:match('^(%u)\t([^\t]*)\t?(.*)$')
      local isNamed = #between(index, 'D\t' .. scope .. '\t', 1) > 0
      local number, isDone = 8, true
      if kind == 'P' then
        call('HDEL', pauses, scope)
      elseif kind == 'R' and not isNamed then
        if num(call('HGET', used, scope)) > 0 or #between(waiting, scope .. '\t', 1) > 0 then
          call('ZADD', dues, text(now + 60000000), member)
        else
          number, isDone = forget_scope(scope, left)
        end
      elseif kind == 'S' then
        local isInForce = false
        for _, rate in ipairs(rule(scope).rates) do isInForce = isInForce or rate.name == name end
        if not isInForce then number, isDone = forget_rate(scope, name, left) end
      elseif kind == 'B' then
        local budget = rule(scope).budgets[name:match('^(.*):')]
        if not budget or text(budget.window) ~= name:match('(%d+)$') then number = forget_budget(scope, name) end
      end
      if not isDone then call('ZADD', dues, text(now), member) end
      left = left - number
    end
    return #members == 16
  end
  """#
#endif
