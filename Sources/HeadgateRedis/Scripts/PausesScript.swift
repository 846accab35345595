#if Redis
// Pauses. The field of an end-point is "end length cause answers probed tried further;SESSION:NEW:OLD,…" with times in
// microseconds. During a pause nothing is granted. After it one permit is granted, the probe. When that is returned, the
// others follow as in `EndPointHealth`: one more for each answer, at most twice as many in a quarter of the pause, and
// a further probe if nothing answers. NEW counts the session's permits since the pause, OLD those that it had before.
// Its returns count as old ones first: they may be late answers to what was sent before the pause.
let pausesScript = #"""
  local known = {}
  local function recovery(scope)
    if known[scope] == nil then
      known[scope] = false
      local ends, length, cause, answers, probed, tried, further, rest =
        (call('HGET', pauses, scope) or ''):match('^(%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+);(.*)$')
      if ends then
        local p = { ends = tonumber(ends), length = tonumber(length), cause = cause, answers = tonumber(answers),
          probed = tonumber(probed), tried = tonumber(tried), further = tonumber(further), sessions = {}, running = 0 }
        for session, new, old in rest:gmatch('([^:,]+):(%d+):(%d+)') do
          p.sessions[session] = { new = tonumber(new), old = tonumber(old) }
          p.running = p.running + tonumber(new)
        end
        known[scope] = p
      end
    end
    return known[scope]
  end
  local function save(scope, p)
    local parts = {}
    for session, had in pairs(p.sessions) do
      if had.new > 0 then parts[#parts + 1] = session .. ':' .. text(had.new) .. ':' .. text(had.old) end
    end
    known[scope] = p
    call('HSET', pauses, scope, table.concat({ text(p.ends), text(p.length), p.cause, text(p.answers), text(p.probed),
      text(p.tried), text(p.further) }, ' ') .. ';' .. table.concat(parts, ','))
  end

  -- Another pause only prolongs. Whether the scope has one is forgotten an hour after its end.
  local function pause(scope, left, cause)
    local p = recovery(scope)
    left = math.min(left, 86400000000)
    -- What several programs were told together differs by the time that it took to tell.
    if left <= 0 or p and now + left <= p.ends + 10000 then return end
    save(scope, { ends = now + left, length = left, cause = cause, answers = 0, probed = 0, tried = 0, further = 0,
      sessions = {}, running = 0 })
    call('ZADD', dues, text(now + left + 3600000000), 'P\t' .. scope)
  end

  -- How many more probes are allowed because the first one takes long, and when there will be one more.
  local function further(p)
    if p.tried == 0 then return 0, 0 end
    local patience = math.max(1000000, math.min(p.length, 10000000))
    local more = math.min(20, math.floor(math.log((now - p.tried) / patience + 1) / math.log(2) + 0.000001))
    return more, p.tried + patience * (2 ^ (more + 1) - 1) - now
  end
  -- The permits that may be held which were granted since the pause, and when that may become more.
  local function allowance(p)
    if p.answers == 0 then
      local more, wait = further(p)
      return 1 + more, wait
    end
    local doubling = math.max(1, math.min(p.length, 4000000) / 4)
    local times = math.min(40, math.floor((now - p.probed) / doubling))
    return math.min(p.answers + 1, 2 * 2 ^ times) + p.further, p.probed + doubling * (times + 1) - now
  end
  -- Nil if a scope may start one more as far as its pauses go; otherwise the time after which to ask again.
  local function held_up(scope)
    local p = recovery(scope)
    if not p then return nil end
    if now < p.ends then return p.ends - now end
    local allowed, wait = allowance(p)
    if p.running >= allowed then return math.max(1, wait) end
  end

  -- A permit was granted. Called before it is counted as held.
  local function probes(scope, session)
    local p = recovery(scope)
    if not p or now < p.ends then return end
    local had = p.sessions[session] or { new = 0, old = num(call('HGET', held, session .. '\t' .. scope)) }
    p.sessions[session] = had
    had.new, p.running = had.new + 1, p.running + 1
    if p.tried == 0 then p.tried = now end
    save(scope, p)
  end
  -- A session has returned permits, used or unused, or has died with them.
  local function returned(scope, session, number, isAnswer, limit)
    local p = recovery(scope)
    local had = p and p.sessions[session]
    if not had then return end
    local old = math.min(number, had.old)
    local new = math.min(number - old, had.new)
    had.old, had.new, p.running = had.old - old, had.new - new, p.running - new
    if isAnswer and new > 0 then
      if p.answers == 0 then p.probed, p.further = now, (further(p)) end
      p.answers = p.answers + new
      if allowance(p) >= math.min(64, limit) then
        known[scope] = false
        call('HDEL', pauses, scope)
        call('ZREM', dues, 'P\t' .. scope)
        return
      end
    end
    save(scope, p)
  end
  """#
#endif
