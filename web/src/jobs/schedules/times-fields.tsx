import { TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'
import { cronOf, type Frequency, type RunTimes, weekdayNames } from './times.ts'
import './schedules.css'

const frequencies: { value: Frequency; title: string }[] = [
  { value: 'hour', title: 'Every hour' },
  { value: 'day', title: 'Every day' },
  { value: 'week', title: 'Every week' },
  { value: 'month', title: 'Every month' },
  { value: 'custom', title: 'Cron pattern' },
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
          label="How often"
          options={frequencies}
          value={frequency}
          onChange={picked => change({ frequency: picked, cron: cronOf(times) })}
        />
        {frequency === 'week' && (
          <Select label="Day" options={weekdays} value={weekday} onChange={picked => change({ weekday: picked })} />
        )}
        {frequency === 'month' && (
          <Select
            label="Day of the month"
            options={days}
            value={day}
            onChange={picked => change({ day: picked })}
            {...(Number(day) > 28 && { description: 'Months without this day are left out.' })}
          />
        )}
        {frequency !== 'custom' && frequency !== 'hour' && (
          <TextField label="Time" type="time" value={time} onChange={picked => change({ time: picked })} isRequired />
        )}
        {frequency === 'custom' && (
          <TextField
            label="Pattern"
            description="Minute, hour, day of the month, month and day of the week."
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
        label="Time zone"
        description="Such as Europe/Berlin or UTC."
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
