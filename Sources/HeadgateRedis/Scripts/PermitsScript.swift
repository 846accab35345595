#if Redis
// Permits. A class is "SCOPE UNITS SCOPE UNITS…|BUDGET:UNITS,…": the scopes and budgets in which a permit counts, in all
// of them or in none. A session that waits for permits of a class has one entry in the line of each of the class's
// scopes.
let permitsScript = #"""
  local ahead = 1000000    -- how long before its start a permit may be granted, in microseconds
  local retry = nil        -- when a start becomes possible that a rate or a budget forbids now
  local learning = learn > now
  -- The time since which a wish that arrives now waits. A line is sorted by these texts, hence the leading zeros.
  local since = string.format('%016.0f', now)

  local function scopes(class) return class:match('^[^|]*'):gmatch('(%S+) (%d+)') end

  -- A class begins with its end-point.
  local function place(class) return class:match('^%S+') end

  local function use(scope, units)
    if call('HINCRBY', used, scope, units) <= 0 then call('HDEL', used, scope) end
  end
  local function count(session, scope, units)
    local field = session .. '\t' .. scope
    use(scope, units)
    local all = call('HINCRBY', held, field, units)
    if all == units then
      call('ZADD', index, 0, 'H\t' .. field)
    elseif all <= 0 then
      call('HDEL', held, field)
      call('ZREM', index, 'H\t' .. field)
    end
  end

  -- How many permits of a class a session waits for, and since when.
  local function wish(field) return (call('HGET', wants, field) or ''):match('^(%d+) (%d+)$') end
  local function line(scope, age, field) return scope .. '\t' .. age .. '\t' .. field end
  local function forget(field, class, age)
    for scope in scopes(class) do call('ZREM', waiting, line(scope, age, field)) end
    call('HDEL', wants, field)
    call('ZREM', index, 'W\t' .. field)
  end
  local function unregister(session, class)
    local field = session .. '\t' .. class
    local _, age = wish(field)
    if age then forget(field, class, age) end
  end
  -- A session's first wish goes to the end of the line. The session keeps this place as long as it has wishes.
  local function register(session, class, number)
    if number <= 0 then return unregister(session, class) end
    local field = session .. '\t' .. class
    local _, age = wish(field)
    if not age then
      age = since
      for scope in scopes(class) do call('ZADD', waiting, 0, line(scope, age, field)) end
      call('ZADD', index, 0, 'W\t' .. field)
    end
    call('HSET', wants, field, text(number) .. ' ' .. age)
  end

  -- Returns the start of a permit, or nil and the scope that has no room.
  local function admit(class)
    local at, reserved = now, ahead
    local pause = held_up(place(class))
    if pause then
      retry = math.min(retry or pause, pause)
      return nil, place(class)
    end
    for scope, units in scopes(class) do
      local room = rule(scope).limit - num(call('HGET', used, scope))
      -- A permit that weighs more than the limit runs alone.
      if math.min(tonumber(units), rule(scope).limit) > room then return nil, scope end
    end
    local tail = class:match('|(.*)$') or ''
    for scope in scopes(class) do
      for name, units in tail:gmatch('([^:,]+):(%d+)') do
        local budget = rule(scope).budgets[name]
        -- Budgets are charged now, so a permit that is charged to one must start at once.
        if budget then
          reserved = 0
          local wait = affordable(scope, name, budget, tonumber(units))
          if wait > 0 then
            retry = math.min(retry or wait, wait)
            return nil, scope
          end
        end
      end
      at = earliest(scope, at)
      if at - now > reserved then
        retry = math.min(retry or math.huge, at - now - reserved)
        return nil, scope
      end
    end
    return at
  end

  local function grant(session, class, at)
    probes(place(class), session)
    for scope, units in scopes(class) do
      count(session, scope, tonumber(units))
      started(scope, at)
      for name, weight in (class:match('|(.*)$') or ''):gmatch('([^:,]+):(%d+)') do
        local budget = rule(scope).budgets[name]
        if budget then spend(scope, name, budget, now, tonumber(weight)) end
      end
    end
    local field = session .. '\t' .. class
    local number, age = wish(field)
    if num(number) > 1 then
      -- The session waits for its next permit behind all others: programs take turns.
      for scope in scopes(class) do
        call('ZREM', waiting, line(scope, age, field))
        call('ZADD', waiting, 0, line(scope, since, field))
      end
      call('HSET', wants, field, text(number - 1) .. ' ' .. since)
    elseif age then
      forget(field, class, age)
    end
    call('HSET', given, session, (call('HGET', given, session) or '') .. class .. '\t' .. text(at) .. '\t' .. text(now) .. '\n')
    if session ~= me then call('PUBLISH', channel .. session, '1') end
  end

  -- Grants the free permits of a scope to the sessions that have waited longest, at most 64 in a call.
  local function pump(scope)
    if learning then return end
    -- The head of the line is usually all that is needed. More is read only if other scopes hold up all of it.
    local left, window = 64, 8
    repeat
      if num(call('HGET', used, scope)) >= rule(scope).limit then return end
      local members = between(waiting, scope .. '\t', window)
      local again, isBlocked = false, false
      for _, member in ipairs(members) do
        local session, class = member:match('^[^\t]*\t[^\t]*\t([^\t]*)\t(.*)$')
        if left == 0 then return end
        if alive(session) then
          local at, blocked = admit(class)
          if at then
            grant(session, class, at)
            left, again = left - 1, true
          elseif blocked == scope then
            -- The sessions behind must not overtake one that needs more of this scope.
            isBlocked = true
            break
          end
        else
          unregister(session, class)
        end
      end
      if not again and not isBlocked and window < 64 and #members == window then window, again = 64, true end
    until not again
  end

  -- Removes everything that a session has, at most 16 of each kind: the rest is left to the next call. After an
  -- unclean end its permits stay counted for the scope's quarantine.
  local function drop(session, isUnclean)
    local isAll, freed = true, {}
    local function each(kind, action)
      local members = between(index, kind .. '\t' .. session .. '\t', 16)
      isAll = isAll and #members < 16
      for _, member in ipairs(members) do action(member:sub(#kind + #session + 3)) end
    end
    local last = call('HGET', ticks, session)
    -- It has ended itself, and its next call may come after another program's.
    local isLeaving = last and last:find('+', 1, true)
    if last and not isLeaving and num(last:match('^%d+')) < num(epoch) then call('HINCRBY', meta, 'left', -1) end
    call('HDEL', ticks, session, session .. '\tattach')
    call('HDEL', given, session)
    each('W', function(class) unregister(session, class) end)
    each('H', function(scope)
      local units = num(call('HGET', held, session .. '\t' .. scope))
      local pause = isUnclean and not isLeaving and rule(scope).quarantine or 0
      returned(scope, session, units, false, 0)
      count(session, scope, -units)
      if pause > 0 then
        use(scope, units)
        -- With the time: the session may end in this way again before its first quarantine is over.
        call('ZADD', quarantine, text(now + pause), table.concat({ scope, session, text(now), units }, '\t'))
      end
      freed[#freed + 1] = scope
    end)
    each('E', function(scope)
      undeclare(session, scope)
      freed[#freed + 1] = scope
    end)
    if isAll then call('ZREM', sessions, session) else call('ZADD', sessions, 1, session) end
    if isLeaving and not isAll then call('HSET', ticks, session, last) end
    for _, scope in ipairs(freed) do pump(scope) end
  end

  -- Ends sessions whose lease has run out, and quarantines that are over: at most 4 of each. Returns whether
  -- more memory may be given back.
  local function reap()
    if now >= grace then
      for _, session in ipairs(call('ZRANGEBYSCORE', sessions, '-inf', '(' .. text(now), 'LIMIT', 0, 4)) do
        drop(session, true)
      end
    end
    for _, member in ipairs(call('ZRANGEBYSCORE', quarantine, '-inf', text(now), 'LIMIT', 0, 4)) do
      call('ZREM', quarantine, member)
      local scope, units = member:match('^([^\t]*)\t.*\t(%d+)$')
      use(scope, -units)
      pump(scope)
    end
    return collect()
  end
  """#
#endif
