"""Draw the pictures of project/assets/ from the same values that the tools give.

Run once by hand, from this folder: `python draw_images.py` (needs Pillow with FreeType). The PNG
files are committed; another version of Pillow may give other bytes.
"""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
INK, GREY, PALE, WHITE = (25, 30, 38), (120, 126, 134), (226, 230, 234), (255, 255, 255)
RED, AMBER, GREEN, BLUE = (196, 40, 40), (214, 150, 20), (40, 130, 70), (36, 90, 160)


def font(size):
    return ImageFont.load_default(size)


class Sheet:
    def __init__(self, width, height, background=WHITE):
        self.image = Image.new("RGB", (width, height), background)
        self.draw = ImageDraw.Draw(self.image)

    def text(self, x, y, text, size=14, colour=INK, anchor="la"):
        self.draw.text((x, y), text, font=font(size), fill=colour, anchor=anchor)

    def box(self, x, y, width, height, fill=None, outline=INK):
        self.draw.rectangle((x, y, x + width, y + height), fill=fill, outline=outline)

    def line(self, *points, colour=INK, width=2):
        self.draw.line(points, fill=colour, width=width)

    def save(self, name):
        small = self.image.quantize(32, dither=Image.Dither.NONE)
        small.save(HERE / "project" / "assets" / name, optimize=True)


def load_tools():
    spec = importlib.util.spec_from_file_location("plant_tools", HERE / "tools.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def value(tools, root, tag, moment):
    """The stored value of a tag at a moment, as the screen shows it."""
    return dict(tools._series(root, tag, "", "~"))[moment]


def tile(sheet, x, y, tag, text, state):
    colour = {"ok": GREEN, "alarm": RED, "warn": AMBER}[state]
    sheet.box(x, y, 148, 46, fill=WHITE, outline=colour)
    sheet.draw.rectangle((x, y, x + 5, y + 46), fill=colour)
    sheet.text(x + 12, y + 4, tag, 13, GREY)
    sheet.text(x + 140, y + 21, text, 18, colour if state == "alarm" else INK, "ra")


def overview(name, tools, root, moment, head, states, foot):
    sheet = Sheet(660, 372, PALE)
    sheet.draw.rectangle((0, 0, 660, 30), fill=INK)
    sheet.text(10, 7, f"AUBACH  overview 1   {head}", 15, WHITE)
    rows = (
        ("circuit 1", ("TT-205", "TT-206", "FT-311")),
        ("circuit 2", ("TT-207", "TT-208", "FT-312")),
        ("pump P-14", ("PT-118", "PT-119", "VT-09")),
        ("vessel, make-up", ("LT-405", "TT-331", "QT-12")),
    )
    for number, (title, tags) in enumerate(rows):
        y = 46 + number * 66
        sheet.text(14, y + 14, title, 15)
        for column, tag in enumerate(tags):
            shown = value(tools, root, tag, moment)
            unit = tools._sensor(root, tag)["unit"].replace("degC", "°C")
            text = f"{shown:.0f} {unit}" if unit == "l" else f"{shown:.2f} {unit}"
            tile(sheet, 150 + column * 166, y, tag, text, states.get(tag, "ok"))
    for number, (text, colour) in enumerate(foot):
        sheet.text(14, 316 + number * 24, text, 16, colour)
    sheet.save(name)


def loss_chart(tools, root):
    sheet = Sheet(640, 330)
    sheet.text(14, 10, "Heat loss per day, % of heat sent (report BAL, 6 Nov 06:00)", 16)
    zero, scale = 96, 11
    for tick in (0, -5, -10, -15):
        y = zero - tick * scale
        sheet.line(60, y, 620, y, colour=PALE if tick else INK, width=1)
        sheet.text(52, y, str(tick), 13, GREY, "rm")
    losses = {}
    for circuit in (1, 2):
        lines = tools.balance(root, circuit, "2026-10-31", "2026-11-05").splitlines()[1:]
        losses[circuit] = [float(line.split()[3]) for line in lines]
    for number, day in enumerate(("31 Oct", "1 Nov", "2 Nov", "3 Nov", "4 Nov", "5 Nov")):
        x = 74 + number * 92
        for circuit, colour in ((1, BLUE), (2, AMBER)):
            loss = losses[circuit][number]
            left = x + (circuit - 1) * 34
            top, bottom = sorted((zero, zero - loss * scale))
            sheet.draw.rectangle((left, top, left + 28, bottom + 1), fill=colour)
            below = bottom + 4 if loss < -1 else zero - 40
            sheet.text(left + 14, below, f"{round(loss, 1) + 0.0:.1f}", 13, INK, "ma")
        sheet.text(x + 30, 296, day, 14, INK, "ma")
    sheet.text(70, 272, "blue: circuit 1", 13, BLUE)
    sheet.text(200, 272, "yellow: circuit 2", 13, AMBER)
    sheet.save("loss-chart.png")


def floor_plan():
    sheet = Sheet(660, 400)
    sheet.text(12, 8, "AUBACH  ground floor, sensors and cabinets   sheet GF-03 rev 4", 15)
    for x, y, w, h, title in (
        (14, 34, 200, 200, "hall A (pumps)"),
        (222, 34, 260, 200, "hall B (circuits)"),
        (490, 34, 156, 200, "water room"),
        (14, 242, 632, 146, "corridor and control room"),
    ):
        sheet.box(x, y, w, h)
        sheet.text(x + 8, y + 6, title, 14, GREY)
    for x, y, text in (
        (30, 70, "P-13"),
        (120, 70, "P-14"),
        (112, 96, "PT-118 in"),
        (112, 114, "PT-119 out"),
        (112, 132, "VT-09, TT-141"),
        (22, 96, "VT-08"),
        (22, 114, "TT-140"),
        (232, 66, "row 2: circuit 1"),
        (240, 86, "FT-311 TT-205 TT-206"),
        (232, 124, "row 3: circuit 2"),
        (240, 144, "FT-312 TT-207 TT-208"),
        (240, 166, "V-88, strainer F-2"),
        (500, 66, "E-2: LT-405"),
        (500, 90, "make-up tank:"),
        (508, 108, "TT-331"),
        (508, 126, "QT-12"),
        (500, 150, "LS-406 (float,"),
        (508, 168, "hard wired)"),
    ):
        sheet.text(x, y, text, 14)
    for x, y, text, note in (
        (30, 186, "C5", "P-13, P-14"),
        (330, 196, "C6", "rows 2, 3"),
        (500, 196, "C7", "water room"),
        (40, 330, "C4", "outdoor"),
    ):
        sheet.box(x, y, 34, 26, fill=AMBER)
        sheet.text(x + 17, y + 13, text, 14, INK, "mm")
        sheet.text(x + 42, y + 6, note, 13, GREY)
    sheet.text(230, 300, "key H for C7: board K, hook 12", 15)
    sheet.text(230, 326, "gauge pipes of P-14: wall A3", 15)
    sheet.line(560, 300, 620, 300)
    sheet.text(560, 308, "5 m", 13)
    sheet.save("floor-plan.png")


def gauge(name, title, bar, foot):
    sheet = Sheet(320, 340, PALE)
    cx, cy, r = 160, 160, 128
    sheet.draw.ellipse((cx - r, cy - r, cx + r, cy + r), fill=WHITE, outline=INK, width=4)
    for tenth in range(0, 101, 5):
        angle = math.radians(135 + tenth * 2.7)
        long = tenth % 10 == 0
        inner = r - (20 if long else 12)
        points = [(cx + q * math.cos(angle), cy + q * math.sin(angle)) for q in (inner, r - 6)]
        sheet.line(*points, width=3 if long else 1)
        if long:
            x, y = cx + (r - 34) * math.cos(angle), cy + (r - 34) * math.sin(angle)
            sheet.text(x, y, str(tenth // 10), 16, INK, "mm")
    angle = math.radians(135 + bar * 27)
    sheet.line(
        (cx, cy), (cx + 100 * math.cos(angle), cy + 100 * math.sin(angle)), colour=RED, width=4
    )
    sheet.draw.ellipse((cx - 8, cy - 8, cx + 8, cy + 8), fill=INK)
    sheet.text(cx, 214, "bar", 18, GREY, "mm")
    sheet.text(cx, 240, title, 17, INK, "mm")
    sheet.text(cx, 314, foot, 15, INK, "mm")
    sheet.save(name)


def plate(name, lines, foot):
    sheet = Sheet(460, 60 + 30 * len(lines), GREY)
    sheet.draw.rounded_rectangle(
        (16, 14, 444, 24 + 30 * len(lines)), 10, fill=PALE, outline=INK, width=3
    )
    for x in (30, 430):
        sheet.draw.ellipse((x - 5, 27, x + 5, 37), fill=GREY, outline=INK)
    for number, text in enumerate(lines):
        sheet.text(52, 22 + 29 * number, text, 20 if number else 18)
    sheet.text(230, 46 + 30 * len(lines), foot, 14, WHITE, "mm")
    sheet.save(name)


def note():
    sheet = Sheet(520, 300, (255, 250, 222))
    for y in range(44, 300, 32):
        sheet.line(0, y, 520, y, colour=(206, 214, 226), width=1)
    for number, text in enumerate(
        (
            "Night Wed/Thu 5 Nov, shift 3",
            "02:10 lamp on C7 went red, then green again",
            "02:14 acknowledged at the cabinet",
            "02:50 strainer F-2 rattles, opened V-88 a bit, 15 %",
            "04:30 E-2 sight glass 57 %, screen 58.9",
            "   (screen has not moved since ...)",
            "P-14 sounds rough. Told nobody yet.   Juna",
        )
    ):
        sheet.text(24, 20 + 32 * number, text, 19, BLUE)
    sheet.save("shift-note.png")


def vibration_chart(tools, root):
    sheet = Sheet(640, 320)
    sheet.text(14, 8, "VT-09 (blue) and VT-08 (grey), mm/s, means of 2 h", 16)

    def at(k, v):
        return 56 + k * 6.9, 280 - v * 30

    for v in (0, 2, 4, 6, 8):
        sheet.line(*at(0, v), *at(82, v), colour=PALE, width=1)
        sheet.text(46, at(0, v)[1], str(v), 13, GREY, "rm")
    for v, colour, text in ((7.1, RED, "7.1 stop"), (5.6, AMBER, "5.6 plan the change")):
        sheet.line(*at(0, v), *at(82, v), colour=colour, width=2)
        sheet.text(64, at(0, v)[1] - 17, text, 13, colour)
    for tag, colour in (("VT-08", GREY), ("VT-09", BLUE)):
        rows = tools.trend(root, tag, "2026-10-31 00:00", "2026-11-06 14:00", 120).splitlines()[1:]
        points = [at(k, float(row.split()[2])) for k, row in enumerate(rows)]
        sheet.line(*points, colour=colour, width=3)
    for k, day in enumerate(("31", "1 Nov", "2", "3", "4", "5", "6")):
        sheet.text(at(k * 12, 0)[0], 288, day, 13, GREY, "ma")
    sheet.save("vibration-chart.png")


def panel():
    sheet = Sheet(430, 300, (70, 76, 84))
    sheet.text(16, 10, "C7   coupler CP-7A   firmware 3.18", 17, WHITE)
    rows = (
        ("RUN", GREEN, "on"),
        ("BUS", GREEN, "on"),
        ("HOLD", AMBER, "on"),
        ("card 02  LT-405", AMBER, "hold"),
        ("card 03  TT-331", AMBER, "hold"),
        ("card 04  QT-12", AMBER, "hold"),
        ("card 05  spare", GREY, "off"),
    )
    for number, (text, colour, state) in enumerate(rows):
        y = 44 + number * 32
        sheet.draw.ellipse((24, y, 44, y + 20), fill=colour, outline=WHITE)
        sheet.text(60, y, text, 17, WHITE)
        sheet.text(330, y, state, 17, WHITE)
    sheet.text(24, 272, "key H: 0   restarts: 4   up since 05.11. 02:10", 15, WHITE)
    sheet.save("panel-c7.png")


def corrected(root):
    """Put the spans into the scratch configuration that the story ends with."""
    path = root / "config" / "sensors.json"
    sensors = json.loads(path.read_text("utf-8"))
    sensors["TT-207"]["spans"].append({"from": "2026-11-03 10:40", "low": 0, "high": 160})
    sensors["FT-312"]["spans"][-1]["litres_per_pulse"] = 4.863
    path.write_text(json.dumps(sensors), "utf-8")


def main():
    sys.dont_write_bytecode = True
    tools = load_tools()
    (HERE / "project" / "assets").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "plant"
        shutil.copytree(HERE / "project", root)
        subprocess.run([sys.executable, "-B", str(HERE / "generate_data.py")], cwd=root, check=True)
        overview(
            "overview-0750.png",
            tools,
            root,
            "2026-11-06 07:50",
            "Fri 6 Nov 2026 07:50",
            {"PT-118": "alarm", "PT-119": "alarm", "VT-09": "warn"},
            (
                ("DPL-14  P-14 differential pressure negative", RED),
                ("BAL-03  circuit 2: loss below 0 (-16.1 %)", RED),
            ),
        )
        loss_chart(tools, root)
        vibration_chart(tools, root)
        corrected(root)
        overview(
            "overview-1420.png",
            tools,
            root,
            "2026-11-06 14:20",
            "Fri 6 Nov 2026 14:20",
            {"VT-09": "warn"},
            (("DPL-14 shelved S-3 until Mon 9 Nov 13:30", AMBER), ("no other alarm", GREEN)),
        )
    floor_plan()
    gauge("gauge-suction.png", "MI-118  suction", 2.3, "wall A3 left, 6 Nov 09:12")
    gauge("gauge-discharge.png", "MI-119  discharge", 5.2, "wall A3 right, 6 Nov 09:12")
    plate(
        "plate-tt207.png",
        ("Thermolin T7 transmitter", "TT  0 ... 160 °C   4-20 mA", "S/N 7F-20931", "made 2026-05"),
        "head of TT-207, row 3",
    )
    plate(
        "plate-ft-4402.png",
        ("Volumetra V2 flow meter", "DN 150   PN 16", "K = 4.871 l/imp", "S/N 88-4402"),
        "FT-312 (?)",
    )
    plate(
        "plate-ft-4417.png",
        ("Volumetra V2 flow meter", "DN 150   PN 16", "K = 4.863 l/imp", "S/N 88-4417"),
        "row 3, on the pipe",
    )
    note()
    panel()


main()
