import { texts } from '../../texts/jobs.ts'
import { TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'
import { cronOf, type Frequency, type RunTimes, weekdayNames } from './times.ts'
import './schedules.css'

const frequencies: { value: Frequency; title: string }[] = [
  { value: 'hour', title: texts.frequencies.hour },
  { value: 'day', title: texts.frequencies.day },
  { value: 'week', title: texts.frequencies.week },
  { value: 'month', title: texts.frequencies.month },
  { value: 'custom', title: texts.frequencies.custom },
]

const days = Array.from({ length: 31 }, (_, index) => ({ value: `${index + 1}`, title: `${index + 1}` }))
/** From Monday. */
const weekdays = [1, 2, 3, 4, 5, 6, 0].map(day => ({ value: `${day}`, title: weekdayNames[day] ?? '' }))

/** Chooses when a schedule runs. */
export function TimesFields({
  times,
  onTimes,
  timeZone,
  onTimeZone,
}: {
  times: RunTimes
  onTimes: (times: RunTimes) => void
  timeZone: string
  onTimeZone: (timeZone: string) => void
}) {
  const { frequency, time, weekday, day, cron } = times
  const change = (changes: Partial<RunTimes>) => onTimes({ ...times, ...changes })
  return (
    <>
      <div className="run-times">
        <Select
          label={texts.howOften}
          options={frequencies}
          value={frequency}
          onChange={picked => change({ frequency: picked, cron: cronOf(times) })}
        />
        {frequency === 'week' && (
          <Select
            label={texts.day}
            options={weekdays}
            value={weekday}
            onChange={picked => change({ weekday: picked })}
          />
        )}
        {frequency === 'month' && (
          <Select
            label={texts.dayOfMonth}
            options={days}
            value={day}
            onChange={picked => change({ day: picked })}
            {...(Number(day) > 28 && { description: texts.shortMonths })}
          />
        )}
        {frequency !== 'custom' && frequency !== 'hour' && (
          <TextField
            label={texts.time}
            type="time"
            value={time}
            onChange={picked => change({ time: picked })}
            isRequired
          />
        )}
        {frequency === 'custom' && (
          <TextField
            label={texts.pattern}
            description={texts.patternHelp}
            value={cron}
            onChange={picked => change({ cron: picked })}
            isRequired
            maxLength={200}
            autoComplete="off"
            spellCheck="false"
          />
        )}
      </div>
      <TextField
        label={texts.timeZone}
        description={texts.timeZoneHelp}
        value={timeZone}
        onChange={onTimeZone}
        isRequired
        maxLength={100}
        autoComplete="off"
        spellCheck="false"
      />
    </>
  )
}
