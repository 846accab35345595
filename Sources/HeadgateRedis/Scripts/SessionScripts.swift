#if Redis
// attach: ARGV[2] is the epoch that the client knows, ARGV[5] the run of the server ("" if it is not known), ARGV[6]
// the number of the attach, which rises for a session, ARGV[7] whether the client's lease has ended (1) or not (0), then
// the scopes and units that the client holds, in pairs. What it does not claim is free. An attach that a later one has
// overtaken would set the units to old claims: it has no effect.
let attachScript = #"""
  local run, sequence = ARGV[5], tonumber(ARGV[6])
  if sequence <= num(call('HGET', ticks, me .. '\tattach')) then return 'LATE' end
  call('HSET', meta, 'lease', text(lease))
  local known = call('HMGET', meta, 'run', 'epoch')
  if known[1] == 'init' and num(tick) == 0 then
    epoch = text(math.max(num(known[2]), math.floor(now / 1000)) + 1)
    call('HSET', meta, 'run', run, 'epoch', epoch)
  elseif not known[1] or known[1] == 'init' or (run ~= '' and known[1] ~= run) then
    -- A restart, another server, or an empty one, even if that was configured again. The epoch is at least the time in
    -- milliseconds, since a server that has lost everything must not reuse an earlier epoch.
    epoch = text(math.max(num(known[2]) + 1, num(tick) + 1, math.floor(now / 1000)))
    learn, grace, learning = now + lease, now + lease, true
    local survivors = call('ZCARD', sessions)
    call('HSET', meta, 'run', run, 'epoch', epoch, 'learn', text(learn), 'grace', text(grace), 'left', survivors,
      'wiped', survivors > 0 and 0 or 1)
  end
  -- Its lease has run out, and no program has noticed. That is an unclean end, with a quarantine where there is one.
  -- A large one takes several calls.
  if call('ZSCORE', sessions, me) and not alive(me) then
    drop(me, true)
    if call('ZSCORE', sessions, me) then return 'MORE' end
  end
  local before = call('HGET', ticks, me)
  local wasAlive = before and alive(me)
  if before and num(before:match('^%d+')) < num(epoch) then call('HINCRBY', meta, 'left', -1) end
  call('ZADD', sessions, text(now + lease), me)
  local tick = epoch .. '.' .. call('HINCRBY', meta, 'generation', 1)
  call('HSET', ticks, me, tick, me .. '\tattach', text(sequence))
  call('HDEL', given, me)
  for _, member in ipairs(between(index, 'W\t' .. me .. '\t', -1)) do unregister(me, member:sub(#me + 4)) end

  -- While learning, programs know more than the server. After the end of its lease, a program does not.
  local believed = learning and ARGV[7] == '0'
  local confirmed, claimed, freed = {}, {}, {}
  for i = 8, #ARGV, 2 do
    local scope, claim = ARGV[i], tonumber(ARGV[i + 1])
    local has = num(call('HGET', held, me .. '\t' .. scope))
    local units = believed and claim or math.min(claim, wasAlive and has or 0)
    if units ~= has then count(me, scope, units - has) end
    claimed[scope] = true
    if units < has then
      -- Whether they were used is not known. A probe among them must not count as running for ever.
      returned(scope, me, has - units, false, 0)
      freed[#freed + 1] = scope
    end
    confirmed[#confirmed + 1] = scope
    confirmed[#confirmed + 1] = units
  end
  for _, member in ipairs(between(index, 'H\t' .. me .. '\t', -1)) do
    local scope = member:sub(#me + 4)
    if not claimed[scope] then
      local has = num(call('HGET', held, me .. '\t' .. scope))
      returned(scope, me, has, false, 0)
      count(me, scope, -has)
      freed[#freed + 1] = scope
    end
  end
  -- Learning ends early only if the list of sessions has survived. An empty server does not know how many there were.
  local progress = call('HMGET', meta, 'left', 'wiped')
  if learning and num(progress[1]) <= 0 and progress[2] == '0' then
    call('HSET', meta, 'learn', 0, 'grace', 0)
    learn, learning = 0, false
  end
  for _, scope in ipairs(freed) do pump(scope) end
  return { tick, learning and learn - now or 0, confirmed, believed and 1 or 0 }
  """#

// step: everything that a program has to report, in one call. From ARGV[5] on:
//   d SCOPE RULE | u SCOPE (no longer declared) | w CLASS NUMBER (wanted now) | r CLASS NUMBER (released)
//   x CLASS NUMBER (released unused) | s CLASS MOMENT BUDGET CHARGED USED (settled) | p SCOPE LEFT CAUSE (paused)
// It renews the lease and returns the permits granted since the last step: class, start and moment of each; then the
// pauses of the classes that are wanted: scope, time left and cause of each; then 1 if more memory is to be given back.
let stepScript = #"""
  local hasMore = reap()
  if not current() then return { 'LOST' } end
  call('ZADD', sessions, text(now + lease), me)
  local touched, uncollected, asked = {}, {}, {}
  for class in (call('HGET', given, me) or ''):gmatch('([^\t]*)\t%d+\t%d+\n') do
    uncollected[class] = (uncollected[class] or 0) + 1
  end
  local function touch(class) for scope in scopes(class) do touched[scope] = true end end
  local i = 5
  while i <= #ARGV do
    local verb, name = ARGV[i], ARGV[i + 1]
    if verb == 'd' then
      declare(me, name, ARGV[i + 2])
      i = i + 3
    elseif verb == 'u' then
      undeclare(me, name)
      touched[name] = true
      i = i + 2
    elseif verb == 'p' then
      pause(name, tonumber(ARGV[i + 2]), ARGV[i + 3])
      i = i + 4
    elseif verb == 'w' then
      -- The program does not know of its latest permits yet.
      register(me, name, ARGV[i + 2] - (uncollected[name] or 0))
      touch(name)
      if ARGV[i + 2] ~= '0' then asked[place(name)] = true end
      i = i + 3
    elseif verb == 'r' or verb == 'x' then
      returned(place(name), me, tonumber(ARGV[i + 2]), verb == 'r', rule(place(name)).limit)
      for scope, units in scopes(name) do
        local all = math.min(units * ARGV[i + 2], num(call('HGET', held, me .. '\t' .. scope)))
        if all > 0 then count(me, scope, -all) end
      end
      touch(name)
      i = i + 3
    else
      -- A refund is bounded by what was charged, and by what is still counted in that part of the window.
      local charged, spent = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
      for scope in scopes(name) do
        local budget = rule(scope).budgets[ARGV[i + 3]]
        if budget and spent < charged then
          spend(scope, ARGV[i + 3], budget, tonumber(ARGV[i + 2]), spent - charged)
        elseif budget then
          spend(scope, ARGV[i + 3], budget, now, spent - charged)
        end
      end
      touch(name)
      i = i + 6
    end
  end
  for scope in pairs(touched) do pump(scope) end
  local permits = call('HGET', given, me) or ''
  if permits ~= '' then call('HDEL', given, me) end
  local found = {}
  for class, at, moment in permits:gmatch('([^\t]*)\t(%d+)\t(%d+)\n') do
    found[#found + 1] = class
    found[#found + 1] = math.max(0, at - now)
    found[#found + 1] = moment
  end
  local paused = {}
  for scope in pairs(asked) do
    local p = recovery(scope)
    if p and now < p.ends then
      paused[#paused + 1] = scope
      paused[#paused + 1] = p.ends - now
      paused[#paused + 1] = p.cause
    end
  end
  local again = retry and math.ceil(retry) or -1
  return { 'OK', learning and learn - now or 0, call('ZCARD', sessions), again, found, paused, hasMore and 1 or 0 }
  """#

// pause: ARGV[5] is the scope, ARGV[6] how much is left in microseconds, ARGV[7] the cause. For programs without a
// session.
let pauseScript = #"""
  pause(ARGV[5], tonumber(ARGV[6]), ARGV[7])
  return 'OK'
  """#

// detach: the clean end, also of a session whose lease has run out while the program was idle.
let detachScript = #"""
  local known = call('HGET', ticks, me)
  if known ~= tick and known ~= tick .. '+' then return 'LOST' end
  drop(me, false)
  if not call('ZSCORE', sessions, me) then return 'OK' end
  -- A large session takes several calls. From the first one on, no step is accepted.
  call('HSET', ticks, me, tick .. '+')
  return 'MORE'
  """#
#endif
