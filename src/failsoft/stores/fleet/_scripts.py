"""The atomic steps as Lua, for Redis 5 or later and Valkey. The rules stand in `port.py`; `memory.py` says them in Python.

Numbers travel as text without an exponent: Lua would write a microsecond clock as 1.8e+15, and its JSON with 14 digits.
"""

from __future__ import annotations

__all__ = ["STEP", "TAKE"]

STEP = """
local key, index = KEYS[1], KEYS[2]
local op, channel, member, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local seen, span, count, why, keep = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local row = redis.call('HMGET', key, 'state', 'generation', 'until', 'opened', 'owner', 'reason')
local state, generation, ends = row[1] or 'none', tonumber(row[2] or '0'), tonumber(row[3] or '0')
local opened, holder, reason = tonumber(row[4] or '0'), row[5] or '', row[6] or ''
local function text(number) return string.format('%.0f', number) end

local runs = ends > now
local busy = (state == 'open' or (state == 'half_open' and holder ~= owner)) and runs
local mine = state == 'half_open' and holder == owner
local after
if op == 'open' then
  local stale = state == 'closed' and seen ~= 0 and seen ~= generation
  if not busy and not stale then after = 'open' end
elseif op == 'lease' then
  if not busy and not (state == 'closed' and generation > seen) then
    after, count, why = 'half_open', math.max(opened, count), reason
  end
elseif op == 'close' then
  if mine or state == 'none' or (state ~= 'closed' and generation == seen) then
    after, span, count, why = 'closed', 0, 0, reason
  end
elseif op == 'give_back' and mine then
  after, span, count, why = 'open', 0, opened, reason
end

if after then
  state, generation, opened, holder, reason = after, math.max(generation + 1, now), count, owner, why
  ends = (after == 'closed') and 0 or (now + span)
  redis.call('HSET', key, 'state', state, 'generation', text(generation), 'until', text(ends),
    'opened', text(opened), 'owner', holder, 'reason', reason)
  redis.call('PEXPIRE', key, text(math.ceil(span / 1000) + keep))
  redis.call('ZADD', index, text(generation), member)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. text(now - keep * 1000))
  redis.call('PEXPIRE', index, text(math.ceil(span / 1000) + keep))
end
local left = math.max(0, ends - now)
local shared = {member, state, text(generation), text(left), text(opened), holder, reason}
if after then redis.call('PUBLISH', channel, cjson.encode(shared)) end
table.insert(shared, after and '1' or '0')
return shared
"""

TAKE = """
local key = KEYS[1]
local calls, interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local turns, patience = tonumber(ARGV[4]), tonumber(ARGV[5])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local function text(number) return string.format('%.0f', number) end

-- Whole numbers of 1/calls microseconds since `base`: exact as long as they stay below 2^53, so the base moves along.
local row = redis.call('HMGET', key, 'base', 'arrival')
local base, arrival = tonumber(row[1] or text(now)), tonumber(row[2] or '0')
local tick = (now - base) * calls
if tick < 0 or tick > 1125899906842624 then
  arrival, base, tick = arrival - tick, now, 0
end
arrival = math.max(arrival, tick)
local wait = arrival - interval * (burst - 1) - tick
local wait_us = math.ceil(math.max(0, wait) / calls)
if wait_us > patience then return {'0', text(wait_us)} end
local taken = 1
if wait <= 0 then taken = math.min(turns, math.floor(-wait / interval) + 1) end
arrival = arrival + taken * interval
redis.call('HSET', key, 'base', text(base), 'arrival', text(arrival))
redis.call('PEXPIRE', key, text(math.ceil((arrival - tick) / calls / 1000) + 1000))
return {text(taken), text(wait_us)}
"""
