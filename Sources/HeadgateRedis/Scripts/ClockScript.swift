#if Redis
// The first part of every script. ARGV[1] is the session, ARGV[2] its tick, ARGV[3] the lease in microseconds, or 0 for
// that of the programs, ARGV[4] the prefix of the channels.
let clockScript = #"""
  local meta, sessions, ticks, index, held, used, rules = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
  local declared, waiting, wants, given = KEYS[8], KEYS[9], KEYS[10], KEYS[11]
  local quarantine, starts, pauses, dues = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
  local call = redis.call
  local me, tick, lease, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

  local function num(value) return tonumber(value or 0) or 0 end
  -- Lua writes numbers of 16 digits with an exponent.
  local function text(number) return string.format('%.0f', number) end
  -- The first members with a prefix; all of them if `most` is -1.
  local function between(key, prefix, most)
    return call('ZRANGEBYLEX', key, '[' .. prefix, '(' .. prefix .. '\255', 'LIMIT', 0, most)
  end

  -- The clock of all leases and rates: the server's clock without its steps. If the server's clock goes back, this one
  -- continues from where it was. While programs are connected, one of them calls at least every third of a lease. A
  -- longer silence is therefore a step of the clock or a pause of the server. It counts as no time, and ends no lease.
  local function clock(last, offset)
    local t = call('TIME')
    local now = t[1] * 1000000 + t[2] + offset
    if last > 0 and (now < last or (now - last > lease / 2 and call('ZCARD', sessions) > 0)) then
      offset = offset + last - now
      now = last
    end
    call('HSET', meta, 'clock', text(now), 'offset', text(offset))
    return now
  end

  local state = call('HMGET', meta, 'clock', 'offset', 'learn', 'grace', 'epoch', 'lease')
  if lease == 0 then lease = num(state[6]) end
  local now = clock(num(state[1]), num(state[2]))
  -- While learning, nothing is granted: programs may hold permits that this server does not know.
  local learn, grace, epoch = num(state[3]), num(state[4]), state[5] or '0'

  local function alive(session)
    local deadline = call('ZSCORE', sessions, session)
    return deadline and (tonumber(deadline) >= now or now < grace)
  end
  -- A tick is "epoch.generation". A late packet contains an old tick.
  local function current()
    return alive(me) and call('HGET', ticks, me) == tick and tick:match('^(%d+)%.') == epoch
  end
  """#
#endif
