"""Which words around a value tie it to a fact, and which lists tie it to nothing.

Words are compared by a rough stem, Chinese by pairs of characters, and the commonest technical
terms across English, Chinese and German.
"""

import re
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Literal

from evals.matcher.numerals import CJK, CLOSE, OPEN

Language = Literal["zh", "de", "en"]

_STOPWORDS_TEXT = """
    a about after again all also always am an and any anything are as at be been before being but
    by can could did do does done each every few for from get gets had has have he her here his how
    i if in into is it its just keep let like make many may me more most much must my need needs
    never no not now of off on once one only or our out over own please run runs set sets shall she
    should so some such than that the their them then there these they this those to too under until
    up us use used uses using very via want wants was we were what when where which while who why
    instead per will with would yes you your value values reference references note notes
    der die das den dem des ein eine einen einem einer und oder aber ist sind war nicht mit auf
    von zu zum zur im am an bei für wird werden es sich als aus
"""
_STOPWORDS = frozenset(_STOPWORDS_TEXT.split())
_GLUE_TEXT = """
    a an are as at be been by for from has have in is it its not of on that the this to
    was were which will with
    der die das den dem ist sind auf von zu für mit im in nicht
"""
_GLUE = frozenset(_GLUE_TEXT.split())
"""Words that join others into a sentence; a bag of keywords has none."""
_GERMAN_TEXT = """
    der die das den dem des ein eine einen einem einer und oder aber ist sind nicht mit auf von
    zu zum zur im am bei für wird wurde wurden werden sich als aus niemals kein keine
"""
_GERMAN = frozenset(_GERMAN_TEXT.split())
_GLOSSARY = tuple(
    group.split()
    for group in (
        "port 端口 ポート",
        "timeout 超时 zeitlimit タイムアウト",
        "server 服务器 サーバー",
        "service 服务 dienst サービス",
        "file 文件 datei ファイル",
        "branch 分支 ブランチ",
        "budget 预算 予算",
        "limit 限制 上限 grenze 制限",
        "release 发布 veröffentlichung リリース",
        "date 日期 datum termin 日付",
        "version 版本 バージョン",
        "user 用户 benutzer ユーザー",
        "database 数据库 datenbank データベース",
        "memory 内存 speicher メモリ",
        "error 错误 fehler エラー",
        "request 请求 anfrage リクエスト",
        "retry 重试 wiederholung リトライ",
        "password 密码 passwort パスワード",
        "test 测试 テスト",
        "push 推送 プッシュ",
        "deploy 部署 デプロイ",
        "config 配置 konfiguration 設定",
        "key 密钥 schlüssel キー",
        "path 路径 pfad パス",
        "install 安装 インストール",
        "function 函数 funktion 関数",
        "setting 设置 einstellung",
        "modify 修改 ändern 変更",
        "deadline 截止 frist 締切",
        "direct 直接",
        "commit 提交 コミット",
        "delete 删除 löschen 削除",
        "address 地址 adresse アドレス",
    )
)
_WORDS = re.compile(
    rf"(?:(?![{CJK}_])[^\W\d])+|[\u30a1-\u30fa\u30fc]+|(?:(?![\u30a1-\u30fa\u30fc])[{CJK}])+"
)
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]")
"""Borrowed words of Japanese: a run of them is one word."""
_QUANTITY = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EMPTY_PAIR = re.compile(
    "[的是在了和与不要为我们请这个那把被到也都就已有将及或并可以会能对从由用\u3041-\u309f]"
)
"""Chinese function words, and the hiragana of Japanese endings and particles."""


def is_stopword(word: str) -> bool:
    return word.lower() in _STOPWORDS


_IRREGULAR = {
    form: verb
    for verb, forms in {
        "break": "broke broken",
        "build": "built",
        "choose": "chose chosen",
        "hold": "held",
        "keep": "kept",
        "pay": "paid",
        "sell": "sold",
        "send": "sent",
        "spend": "spent",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}


def stem(word: str) -> str:
    """Reduce a lower-case word so that usual inflections agree (`pushes`, `pushing`: `push`)."""
    word = _IRREGULAR.get(word, word)
    if word.endswith("s") and len(word) > 3:
        word = word[:-2] if word.endswith("es") else word[:-1]
    for suffix in ("ing", "ed", "en", "ly"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    word = word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")
    return word[:6]


def informative(text: str) -> list[str]:
    """Stems and character pairs of a text in order, without function words and numerals."""
    terms: list[str] = []
    for word in _WORDS.findall(_CAMEL.sub(" ", _QUANTITY.sub(" ", text))):
        if _KATAKANA.match(word):
            terms += [word] if len(word) > 1 else []
        elif re.match(f"[{CJK}]", word):
            pairs = (word[i : i + 2] for i in range(len(word) - 1))
            terms += [pair for pair in pairs if not _EMPTY_PAIR.search(pair)]
        elif len(word) > 2 and word.lower() not in _STOPWORDS:
            terms.append(stem(word.lower()))
    return terms


def with_translations(terms: Sequence[str], text: str) -> frozenset[str]:
    """Add the other languages' words for the technical terms that a text uses."""
    found = set(terms)
    for group in _GLOSSARY:
        if any(stem(term) in found if term[0] < "\u0250" else term in text for term in group):
            found.update(stem(term) for term in group if term[0] < "\u0250")
            found.update(chain.from_iterable(informative(t) for t in group if t[0] >= "\u0250"))
    return frozenset(found)


def language_of(text: str) -> Language:
    """Guess by script and function words; everything that is neither Chinese nor German: `en`."""
    if len(re.findall(f"[{CJK}]", text)) >= 2:
        return "zh"
    words = re.findall(r"[^\W\d_]+", text.lower())
    german = sum(word in _GERMAN for word in words)
    return "de" if german > sum(word in _STOPWORDS - _GERMAN for word in words) else "en"


_SEPARATOR = re.compile(r"[,;|\t、]")
_PLAIN = rf"[^\s{CJK}{OPEN}{CLOSE}\"'=<>(){{}}\[\]]"
_TOKEN = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|[{CJK}]{{1,4}}|{_PLAIN}*\w{_PLAIN}*")


def tokens_of(text: str) -> list[str]:
    return _TOKEN.findall(text)


_LABEL_OR_NAME = re.compile(
    rf"[^\s{OPEN}{CLOSE}\"'=<>(){{}}\[\],;:]*(?:[/_]|[a-z][A-Z]|\.\w)[^\s{OPEN}{CLOSE}\"'=<>(){{}}\[\],;:]*"
    r"(\W{0,3}[:=])?"
)


def shape_of(token: str) -> str:
    """Say what kind of token it is: a quantity with its unit, a path, a name or a word."""
    if token.startswith(OPEN):
        return "quantity" + token.partition("|")[2]
    if "/" in token or re.search(r"\.\w", token):
        return "path"
    return "name" if re.search(r"[_\d]|[a-z][A-Z]", token) else "word"


_ROW_OF_NUMBERS = re.compile(f"({_QUANTITY.pattern})(?:[ *]+{_QUANTITY.pattern})+")
"""Numbers in a row are one thing, such as a schedule or a point."""


def _is_bag(item: str) -> bool:
    """Whether words and values stand side by side without grammar, perhaps behind one label."""
    if len(re.findall(r"[:=](?!//)", item)) == 1:
        item = re.sub(r"^[^:=]*[:=](?!//)", "", item)
    tokens = tokens_of(_ROW_OF_NUMBERS.sub(r"\1", item))
    if len(tokens) < 6 or re.search(rf"[:=](?!//)|\(|[{CJK}]{{3}}", item):
        return False
    if sum(shape_of(token) != "word" for token in tokens) >= 0.6 * len(tokens):
        return True
    glue = sum(token.strip(".!?\"'").lower() in _GLUE for token in tokens)
    return glue < len(tokens) // 8


def is_sentence(text: str) -> bool:
    """Whether at least two informative words and a function word, or four Chinese characters."""
    plain = plain_words(text)
    if len(re.findall(f"[{CJK}]", plain)) >= 4:
        return True
    return len(informative(plain)) >= 2 and any(token in _GLUE for token in plain.lower().split())


def plain_words(text: str) -> str:
    """Drop the paths and identifiers that label nothing: their parts are no context."""
    return _LABEL_OR_NAME.sub(lambda match: match[0] if match[1] else " ", text)


def names_in(text: str) -> frozenset[str]:
    """Return the paths and identifiers in a text that label nothing."""
    return frozenset(found[0].lower() for found in _LABEL_OR_NAME.finditer(text) if not found[1])


def _items(segment: str) -> list[str]:
    plain = _QUANTITY.sub(lambda quantity: "0" * len(quantity[0]), segment)
    cells = [cell for cell in plain.split("|") if cell.strip()]
    if "|" in plain and len(cells) <= 3 and "," not in plain:
        return [segment]
    cuts = [0, *(cut.end() for cut in _SEPARATOR.finditer(plain)), len(plain) + 1]
    return [segment[start : stop - 1] for start, stop in pairwise(cuts)]


def binding_text(segment: str, offset: int) -> str | None:
    """Select what of a segment says something about the value at an offset in it.

    Returns:
        The entries that join at least two tokens. None if the value stands in a bare list of
        unlike things, which says nothing about any of them.
    """
    items, position, own = _items(segment), 0, ""
    for item in items:
        if position <= offset:
            own = item
        position += len(item) + 1
    bare = [tokens_of(item) for item in items]
    shapes = [shape_of(tokens[0]) for tokens in bare if len(tokens) == 1]
    if len(tokens_of(own)) <= 1 and len(shapes) >= 3 and len(set(shapes)) > 1:
        return None
    joined = (item for item, tokens in zip(items, bare, strict=True) if len(tokens) > 1)
    return " , ".join(item for item in joined if not _is_bag(item))
